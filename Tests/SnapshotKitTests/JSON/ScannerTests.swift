import SnapshotKit
import Testing

@Suite("JSON scanner")
struct ScannerTests {
    /// A text by itself, and as a content deep in a state, where another reader meets its beginning.
    static func places(of text: [UInt8]) -> [(before: Int, text: [UInt8])] {
        let content = Array(#"[{"id":"x","content":"#.utf8)
        return [(0, text), (content.count, content + text + Array("}]".utf8))]
    }

    @Test("accepts what RFC 8259 allows", arguments: ScannerCase.accepted)
    func accepts(row: ScannerCase) {
        for (_, text) in Self.places(of: row.text) { #expect(ScannerVerdict(text) == .json) }
    }

    @Test("refuses all else, and says where", arguments: ScannerCase.refused)
    func refuses(row: ScannerCase) { #expect(ScannerVerdict(row.text) == row.expected) }

    @Test("refuses the same inside a state, at the same place", arguments: ScannerCase.refused)
    func refusesInside(row: ScannerCase) throws {
        let (before, text) = Self.places(of: row.text)[1]
        guard case .refused(_, let offset) = ScannerVerdict(text) else {
            Issue.record("accepted")
            return
        }
        // Anything that ran on to the end of the text now runs on into the state.
        if row.reason == .unexpectedEnd || row.reason == .trailingBytes {
            #expect(offset >= before + row.offset)
        } else {
            #expect(offset == before + row.offset)
        }
    }

    @Test("no beginning of an accepted text is taken for a whole one", arguments: ScannerCase.accepted)
    func truncations(row: ScannerCase) {
        for place in Self.places(of: row.text) {
            for count in 0..<place.text.count {
                let prefix = Array(place.text[..<count])
                switch ScannerVerdict(prefix) {
                case .json: #expect(Self.isWhole(prefix), "\(count) bytes are taken for a whole")
                case .refused(let reason, let offset):
                    #expect(Self.mayEnd(reason, offset, prefix), "\(reason) at \(offset) of \(count)")
                }
            }
        }
    }

    @Test("a refused text stays refused at every truncation behind the place", arguments: ScannerCase.refused)
    func refusedTruncations(row: ScannerCase) {
        for count in 0..<row.text.count {
            let prefix = Array(row.text[..<count])
            let verdict = ScannerVerdict(prefix)
            switch verdict {
            case .json: #expect(count <= row.offset, "accepted at \(count)")
            case .refused(let reason, let offset):
                #expect(verdict == row.expected || Self.mayEnd(reason, offset, prefix), "\(verdict) of \(count)")
            }
        }
    }

    /// Only numbers, and values followed by space, can be cut and still be whole.
    private static func isWhole(_ text: [UInt8]) -> Bool {
        let isSpace = { (byte: UInt8) in [0x20, 0x0A, 0x0D, 0x09].contains(byte) }
        guard let first = text.first(where: { !isSpace($0) }), let last = text.last(where: { !isSpace($0) }) else {
            return false
        }
        return (0x30...0x39).contains(last) || isSpace(text[0]) && [(0x5B, 0x5D)].contains { $0 == (first, last) }
    }

    /// A text that is cut ends too early; a character or an escape that is cut may also be called invalid where it
    /// starts.
    private static func mayEnd(_ reason: JSONError.Reason, _ offset: Int, _ text: [UInt8]) -> Bool {
        switch reason {
        case .unexpectedEnd: offset == text.count
        case .invalidUTF8: text.count - offset < 4
        case .loneSurrogate: text.count - offset < 12
        default: false
        }
    }

    @Test("64 arrays or objects are not too deep, 65 are")
    func depth() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let text = { (depth: Int) in
                Array((String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)).utf8)
            }
            #expect(ScannerVerdict(text(64)) == .json)
            #expect(ScannerVerdict(text(65)) == .refused(.tooDeep, 64 * open.utf8.count))
            #expect(ScannerVerdict(text(100_000)) == .refused(.tooDeep, 64 * open.utf8.count))
        }
        let content = { (depth: Int) in
            let value = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            return ScannerVerdict(Array(#"[{"id":"a","content":\#(value)}]"#.utf8))
        }
        #expect(content(62) == .json)
        #expect(content(63) != .json)
    }

    @Test("depth is what is open at once, not what was")
    func depthCloses() {
        let many = "[" + Array(repeating: "[[[]]]", count: 1_000).joined(separator: ",") + "]"
        #expect(ScannerVerdict(Array(many.utf8)) == .json)
    }

    @Test("ten thousand members of one object are told apart, and the one duplicate among them is found")
    func manyMembers() {
        let names = (0..<10_000).map { "\"member \($0)\":\($0)" }
        #expect(ScannerVerdict(Array("{\(names.joined(separator: ","))}".utf8)) == .json)
        for twice in [0, 47, 48, 49, 5_000, 9_999] {
            let text = "{" + (names + [#""\u006dember \#(twice)":0"#]).joined(separator: ",") + "}"
            guard case .refused(.duplicateMember, let offset) = ScannerVerdict(Array(text.utf8)) else {
                Issue.record("member \(twice) is not found twice")
                continue
            }
            #expect(offset == text.utf8.count - #""\u006dember \#(twice)":0}"#.utf8.count)
        }
    }

    @Test("objects inside a crowded object have names of their own")
    func nestedCrowds() {
        let inner = "{" + (0..<100).map { "\"m\($0)\":1" }.joined(separator: ",") + "}"
        let outer = "{" + (0..<100).map { "\"m\($0)\":\(inner)" }.joined(separator: ",") + "}"
        #expect(ScannerVerdict(Array(outer.utf8)) == .json)
        let twice = outer.dropLast() + ",\"m3\":1}"
        #expect(ScannerVerdict(Array(twice.utf8)) == .refused(.duplicateMember, outer.utf8.count))
        let within = outer.dropLast(2) + ",\"m3\":1}}"
        #expect(ScannerVerdict(Array(within.utf8)) == .refused(.duplicateMember, outer.utf8.count - 1))
    }

    @Test("a string breaks at every place in a word of eight bytes")
    func wordBoundaries() {
        for length in 0..<34 {
            let letters = [UInt8](repeating: UInt8(ascii: "a"), count: length)
            #expect(ScannerVerdict([0x22] + letters + [0x22]) == .json)
            #expect(ScannerVerdict([0x22] + letters + Array("é\"".utf8)) == .json)
            #expect(ScannerVerdict([0x22] + letters + Array("\\n\"".utf8)) == .json)
            #expect(ScannerVerdict([0x22] + letters + [0x1F, 0x22]) == .refused(.controlCharacter, length + 1))
            #expect(ScannerVerdict([0x22] + letters + [0xFF, 0x22]) == .refused(.invalidUTF8, length + 1))
            #expect(ScannerVerdict([0x22] + letters) == .refused(.unexpectedEnd, length + 1))
        }
    }

    @Test("each single byte outside a value is refused but space")
    func singleBytes() {
        let starts = Set("{[\"-0123456789tfn \t\r\n".utf8)
        for byte in UInt8.min...UInt8.max where !starts.contains(byte) {
            #expect(ScannerVerdict([byte]) == .refused(.unexpectedByte, 0))
            #expect(ScannerVerdict([UInt8(ascii: "["), byte, UInt8(ascii: "1"), UInt8(ascii: "]")]) != .json)
        }
    }
}
