import SnapshotKit
import Testing

@Suite("Names of members")
struct NameStackTests {
    /// Names beyond the number that is searched linearly.
    private static let many = (0..<200).map { #""name\#($0)":0"# }

    /// A repeated name, and its notation the second time.
    private static let repeated = [
        #""name0""#, #""name47""#, #""name48""#, #""name199""#, #""\u006eame0""#, #""nam\u00651""#, #""name19\u0039""#,
    ]

    @Test("a name that stands twice is found, however many stand between", arguments: repeated)
    func duplicates(name: String) {
        let json = #"[{"id":1,"content":{\#((Self.many + ["\(name):0"]).joined(separator: ","))}}]"#
        #expect {
            try Snapshot(json: json)
        } throws: { error in
            guard case .json(let error) = error as? StateError else { return false }
            return error.reason == .duplicateMember
        }
    }

    @Test("names that differ where their marks do not look are different")
    func sameEnds() throws {
        let names = (0..<200).map { #""aaaaaaaa\#(1_000 + $0)zzzzzzzz":0"# }
        #expect(try Snapshot(json: #"[{"id":1,"content":{\#(names.joined(separator: ","))}}]"#).itemCount == 1)
    }

    @Test("an object's names are forgotten where it ends")
    func siblings() throws {
        let object = "{\(Self.many.joined(separator: ","))}"
        let json =
            #"[{"id":1,"content":{"name0":\#(object),"name1":[\#(object),\#(object)],"name2":{"name0":{"name0":1}}}}]"#
        #expect(try Snapshot(json: json).itemCount == 1)
    }
}
