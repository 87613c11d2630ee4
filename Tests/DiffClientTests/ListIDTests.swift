import Foundation
import Testing

@testable import DiffClient

private struct FireID: RawRepresentable, ListID, Hashable {
    var rawValue: Int64
}

private enum Column: String, ListID {
    case open, done
}

@Suite("Ids of other types")
struct ListIDTests {
    @Test(
        "are written, and read back from nothing but what they write",
        arguments: [
            (17, "17", ["017", "+17", "17.0", "x", ""]),
            (Int.min, "-9223372036854775808", ["-9223372036854775809"]),
            (Int64(9_007_199_254_740_993), "9007199254740993", []),
            ("caf\u{E9}", "caf\u{E9}", ["cafe\u{301}"]),
            (FireID(rawValue: 5), "5", ["05"]),
            (Column.done, "done", ["Done", ""]),
            (
                UUID(uuid: (0xAB, 0xCD, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 0xEF)),
                "abcd0000-0000-4000-8000-0000000000ef",
                ["ABCD0000-0000-4000-8000-0000000000EF", "abcd000000004000800000000000 00ef", "abcd"]
            ),
            (ElementID("a"), "a", []),
        ] as [(any ListID, String, [String])])
    func reading(id: any ListID, text: String, others: [String]) {
        func check(_ id: some ListID) {
            #expect(id.elementID == ElementID(text))
            // Written as a string, and as an integer if it is one.
            for written in [ElementID(text), id.elementID] {
                #expect(type(of: id).init(id: written)?.elementID == ElementID(text))
            }
            for other in others { #expect(type(of: id).init(id: ElementID(other)) == nil, "\(other)") }
        }
        check(id)
        #expect(id.elementIDs == [ElementID(text)])
    }

    @Test("an integer is written without quotes as far as parsers keep it")
    func integers() throws {
        let ids: [any ListID] = [17, FireID(rawValue: 9_007_199_254_740_993), Column.open]
        #expect(try JSONText(encoding: ids.map(\.elementID)) == JSONText(#"[17,"9007199254740993","open"]"#))
    }

    @Test("several of them stand in arrays and sets, and nil among siblings")
    func several() {
        let last: Int? = nil
        #expect([3, 1].elementIDs == [3, 1])
        #expect([1, last].elementIDs == [1, nil])
        #expect(Set(["a"]).elementIDs == ["a"])
        #expect(last.elementIDs == [nil])
    }
}
