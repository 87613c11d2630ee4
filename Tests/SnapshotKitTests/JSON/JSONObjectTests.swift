import Testing

@testable import SnapshotKit

@Suite struct JSONObjectTests {
    @Test func membersAreWrittenInTheirOrderAndThoseThatAreNilAreNot() {
        var object = JSONObject()
        object.text("none", nil)
        object.text("text", "a\"b")
        object.number("number", -7)
        object.number("noNumber", nil)
        object.null("null")
        object.json("json", Array("[1]".utf8))
        object.hex("hex", 0xAB)
        #expect(
            text(object)
                == #"{"text":"a\"b","number":-7,"null":null,"json":[1],"hex":"00000000000000ab"}"#)
    }

    @Test func objectsAndListsStandInEachOther() {
        var object = JSONObject()
        object.list("empty", [Int]()) { $0.writer.append($1) }
        object.list("numbers", [1, 2]) { $0.writer.append($1) }
        object.list("objects", ["a", "b"]) { list, name in
            list.object {
                $0.text("name", name)
                $0.object("inner") { _ in }
            }
        }
        object.object("last") { $0.number("n", 1) }
        object.number("behind", 2)
        #expect(
            text(object)
                == #"{"empty":[],"numbers":[1,2],"objects":[{"name":"a","inner":{}},{"name":"b","inner":{}}],"#
                + #""last":{"n":1},"behind":2}"#)
    }

    @Test func oneWithoutMembersIsOneToo() { #expect(text(JSONObject()) == "{}") }

    private func text(_ object: consuming JSONObject) -> String { String(decoding: object.bytes(), as: UTF8.self) }
}
