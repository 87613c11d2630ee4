import Foundation
import Testing

@testable import SnapshotKit

private class Animal: Encodable {
    var name = "Ada"
}

private final class Cat: Animal {
    private enum CodingKeys: String, CodingKey { case lives, parents }

    override func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(9, forKey: .lives)
        try super.encode(to: encoder)
        var parents = container.nestedUnkeyedContainer(forKey: .parents)
        try parents.encode("Eve")
        try super.encode(to: container.superEncoder())
        try parents.encodeNil()
        var last = parents.nestedContainer(keyedBy: CodingKeys.self)
        try last.encodeNil(forKey: .lives)
        try super.encode(to: parents.superEncoder())
    }
}

private enum Shape: Encodable {
    case point, circle(radius: Float), pair(Int8, UInt64)
}

private struct Nothing: Encodable {
    func encode(to encoder: any Encoder) {}
}

@Suite("Values as JSON without Foundation")
struct ValueEncodingTests {
    static var table: [any Encodable] {
        [
            "a \"b\" \\ \n é 🍎", true, [Int.min, Int.max], [UInt64.max], Float(0.1), [1: "one"],
            [0.1, -0.0, 5, 1e300, .leastNonzeroMagnitude, 1.5e20] as [Double], [nil, 1] as [Int?],
            ["a": ["b": [Int]()]], Cat(), [Nothing()], Date(timeIntervalSinceReferenceDate: 0.5), CGFloat(2.5),
            ElementID(17), ElementID("17"),
            UUID(uuid: (0xAB, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 1)),
            [Shape.point, .circle(radius: 0.5), .pair(-1, 2)],
        ]
    }

    @Test("are what JSONEncoder writes", arguments: table.indices)
    func same(index: Int) throws {
        let value = Self.table[index]
        #expect(try text(value) == JSONText([UInt8](JSONEncoder().encode(value))))
    }

    @Test("a number that is none names its place")
    func unencodable() throws {
        let error = #expect(throws: EncodingError.self) { try text(["a": ["b": Double.infinity]]) }
        guard case .invalidValue(_, let context)? = error else { return }
        #expect(context.codingPath.map(\.stringValue) == ["a", "b"])
        #expect(context.debugDescription == "JSON has no inf")
    }

    @Test(
        "a JSON text is taken as it is, and as a value by another encoder",
        arguments: [
            #"{ "a" : [1, -0.5, 1e3, "\u00e9\n", null, true, false], "camelCase": {"": []} }"#, "18446744073709551615",
            "-9223372036854775808", "0.1", #""text""#, "null", "[]", "1.7976931348623157e308",
        ])
    func verbatim(json: String) throws {
        let value = try JSONText(json)
        #expect(try text([value]).description == "[\(json)]")
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        let wanted = try JSONSerialization.jsonObject(with: Data(json.utf8), options: .fragmentsAllowed) as? NSObject
        let encoded = try JSONSerialization.jsonObject(with: encoder.encode(value), options: .fragmentsAllowed)
        #expect(encoded as? NSObject == wanted)
    }

    @Test(
        "a number with more digits than another encoder takes is refused, not rounded",
        arguments: ["0.12345678901234567890", "18446744073709551616", "1e400", "-1.00000000000000000001e300"])
    func digits(number: String) throws {
        let value = try JSONText("[\(number)]")
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(value) }
        #expect(try text(value).description == "[\(number)]")
    }

    @discardableResult
    private func text(_ value: some Encodable) throws -> JSONText {
        var writer = JSONWriter()
        try writer.append(encoding: value)
        return try JSONText(writer.bytes())
    }
}
