import Testing

@testable import SnapshotKit

@Suite("Places in a JSON text")
struct JSONSliceTests {
    @Test("members come in the order of the text, with where they stand")
    func members() throws {
        let text = " \n{ \"b\\u0063\" :[1, {\"x\":2}],\"é\": \"{\" , \"a\":\tnull}\n"
        let document = try JSONSlice(document: Array(text.utf8))
        #expect(document.offset == 2)
        let members = try #require(document.orderedMembers)
        #expect(members.map(\.name) == ["bc", "é", "a"])
        #expect(members.map(\.offset) == [4, 28, 40])
        #expect(members.map(\.value.offset) == [15, 34, 45])
        #expect(members.map { String(decoding: $0.value.text, as: UTF8.self) } == ["[1, {\"x\":2}]", "\"{\"", "null"])
        #expect(members[0].value.elements?[1].orderedMembers?[0].offset == 20)
        #expect(try JSONSlice(document: Array("{}".utf8)).orderedMembers?.isEmpty == true)
    }

    @Test("what is no object has none", arguments: ["[]", "1", "\"{\"", "null", " true"])
    func others(text: String) throws { #expect(try JSONSlice(document: Array(text.utf8)).orderedMembers == nil) }

    @Test(
        "what is no JSON is refused with its place",
        arguments: [
            ("", JSONError(.unexpectedEnd, at: 0)), (" {\"a\":1} x", JSONError(.trailingBytes, at: 9)),
            ("{\"a\":1,\"a\":2}", JSONError(.duplicateMember, at: 7)), ("[[[]]]", JSONError(.tooDeep, at: 2)),
        ])
    func refusals(text: String, error: JSONError) {
        #expect(throws: error) { try JSONSlice(document: Array(text.utf8), maxDepth: 2) }
    }

    @Test("strings of any length end at their own quote, whatever is escaped in them", arguments: Effort.seeds(30))
    func strings(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let escapes = [
            (#"\\"#, #"\"#), (#"\""#, "\""), (#"\n"#, "\n"), (#"\u0041"#, "A"), (#"\\\""#, #"\""#), ("é", "é"),
        ]
        var (texts, values): ([String], [String]) = ([], [])
        for _ in 0..<40 {
            var (text, value) = ("", "")
            for _ in 0..<random.below(6) {
                let plain = String(repeating: "x", count: random.below(2) * random.below(150))
                let (written, meant) = escapes[random.below(escapes.count)]
                let count = random.below(4) * random.below(60) / 20
                text += plain + String(repeating: written, count: count)
                value += plain + String(repeating: meant, count: count)
            }
            texts.append("\"\(text)\"")
            values.append(value)
        }
        let elements = try #require(JSONSlice(document: Array("[\(texts.joined(separator: ","))]".utf8)).elements)
        #expect(elements.map(\.string) == values)
        #expect(elements.map { String(decoding: $0.text, as: UTF8.self) } == texts)
    }

    @Test("a place is told as editors tell it")
    func positions() {
        do throws(JSONError) {
            _ = try JSONSlice(document: Array("{\n\n \"é\u{1F600}\": 01}".utf8))
            Issue.record("01 is no number")
        } catch {
            #expect("\(error)" == "invalid number at line 3, column 9 (byte 15): a number has no zeros in front")
        }
    }

    @Test(
        "a byte order mark and carriage returns have no column",
        arguments: [
            ("\u{FEFF}x", "line 1, column 1 (byte 3)"), ("\u{FEFF}[é", "line 1, column 2 (byte 4)"),
            ("\u{FEFF}{\r\n  \"é\": x", "line 2, column 8 (byte 14)"), ("{\r\n\r\nx", "line 3, column 1 (byte 5)"),
            ("[1,\r\n", "line 2, column 1 (byte 5)"), ("[1,\r]", "line 1, column 4 (byte 4)"),
        ])
    func marks(text: String, place: String) {
        do throws(StateError) {
            _ = try Snapshot(json: Array(text.utf8))
            Issue.record("it is no JSON")
        } catch {
            if case .json(let error) = error {
                #expect("\(error)".contains(" at \(place)"))
            } else {
                Issue.record("\(error)")
            }
        }
    }
}
