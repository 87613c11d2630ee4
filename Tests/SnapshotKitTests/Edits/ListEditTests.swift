import Foundation
import Testing

@testable import SnapshotKit

private struct Card: Codable, Sendable {
    var title: String
    var likes: Int?
}

private struct CardID: RawRepresentable, ElementIDConvertible, Hashable { var rawValue: Int }

/// `s[a b(c d) 7] t=[f] u[]`, each item with a content.
private let state = """
    {"sections":[{"id":"s","items":[{"id":"a","content":{"title":"A"}},{"id":"b","content":{},"items":["c","d"]},7]},
    {"id":"t","content":{"title":"T"},"items":["f"]},{"id":"u","items":[]}]}
    """

private func json(_ text: String) -> JSONText {
    do { return try JSONText(text) } catch { preconditionFailure("\(error)") }
}

@Suite("Typed edits")
struct ListEditTests {
    private static let card = Card(title: "x", likes: 2)

    static let table: [(ListEdit, String)] = [
        (.insert("x", before: "a"), #"{"op":"insert","items":["x"],"before":"a"}"#),
        (.insert(["x", "y"], after: nil), #"{"op":"insert","items":["x","y"],"after":null}"#),
        (.insert(8), #"{"op":"insert","items":[8],"at":"end"}"#),
        (
            .insert(NewElement("x", card, kind: "card", isExpanded: false, items: [NewElement("y")]), at: .start),
            #"{"op":"insert","items":[{"id":"x","content":{"title":"x","likes":2},"kind":"card","expanded":false,"#
                + #""items":[{"id":"y"}]}],"at":"start"}"#
        ),
        (
            .insert(NewElement(CardID(rawValue: 9), json("[1.50, 1e400]")), into: .section("u")),
            #"{"op":"insert","items":[{"id":9,"content":[1.50, 1e400]}],"into":{"section":"u"},"at":"end"}"#
        ),
        (
            .insert(json(#"[{"id":"x"},"y"]"#), into: .item("b"), at: .start),
            #"{"op":"insert","items":[{"id":"x"},"y"],"into":{"item":"b"},"at":"start"}"#
        ),
        (.move("a", before: "d"), #"{"op":"move","items":["a"],"before":"d"}"#),
        (.move(["d", "c"], before: ["z", "f", nil]), #"{"op":"move","items":["d","c"],"before":["z","f",null]}"#),
        (.move(CardID(rawValue: 7), after: "f"), #"{"op":"move","items":[7],"after":"f"}"#),
        (
            .move("c", into: .section("t"), at: .start),
            #"{"op":"move","items":["c"],"into":{"section":"t"},"at":"start"}"#
        ),
        (.move(Set([7])), #"{"op":"move","items":[7],"at":"end"}"#),
        (.remove(["b", "gone"]), #"{"op":"delete","items":["b","gone"]}"#),
        (.clear("b"), #"{"op":"clear","items":["b"]}"#),
        (.clear(), #"{"op":"clear"}"#),
        (.update("a", card), #"{"op":"update","items":[{"id":"a","content":{"title":"x","likes":2}}]}"#),
        (.update("a", nil as Card?), #"{"op":"update","items":[{"id":"a","content":null}]}"#),
        (.update("a", kind: "ad"), #"{"op":"update","items":[{"id":"a","kind":"ad"}]}"#),
        (
            .patch("a", ["title": nil, "by": [1]]),
            #"{"op":"update","items":[{"id":"a","patch":{"title":null,"by":[1]}}]}"#
        ),
        (.patch("a", Card(title: "x")), #"{"op":"update","items":[{"id":"a","patch":{"title":"x"}}]}"#),
        (.add("a", "/likes", 0.5), #"{"op":"update","items":[{"id":"a","add":{"/likes":0.5}}]}"#),
        (.expand("b"), #"{"op":"expand","items":["b"]}"#),
        (.collapse("b"), #"{"op":"collapse","items":["b"]}"#),
        (.reload(["a", "c"]), #"{"op":"reload","items":["a","c"]}"#),
        (.reconfigure("a"), #"{"op":"reconfigure","items":["a"]}"#),
        (
            .sections(.insert(["v", "w"], before: "t")),
            #"{"op":"insert","sections":[{"id":"v"},{"id":"w"}],"before":"t"}"#
        ),
        (
            .sections(.insert([NewElement("v", card)])),
            #"{"op":"insert","sections":[{"id":"v","content":{"title":"x","likes":2}}],"at":"end"}"#
        ),
        (.sections(.move("s", after: "t")), #"{"op":"move","sections":["s"],"after":"t"}"#),
        (.sections(.remove("s")), #"{"op":"delete","sections":["s"]}"#),
        (.sections(.clear(["s"])), #"{"op":"clear","sections":["s"]}"#),
        (.sections(.update("t", card)), #"{"op":"update","sections":[{"id":"t","content":{"title":"x","likes":2}}]}"#),
        (.sections(.collapse("s")), #"{"op":"collapse","sections":["s"]}"#),
        (.sections(.reload("s")), #"{"op":"reload","sections":["s"]}"#),
    ]

    /// Refused, at the same places.
    static let refused: [(ListEdit, String)] = [
        (.insert("a", before: "nobody"), #"{"op":"insert","items":[{"id":"a"}],"before":"nobody"}"#),
        (.move("b", into: .item("c")), #"{"op":"move","items":["b"],"into":{"item":"c"}}"#),
        (.add("a", "/title", 1), #"{"op":"update","items":[{"id":"a","add":{"/title":1}}]}"#),
        (
            .sections(.insert(1, into: .item("a"))),
            #"{"op":"insert","sections":[{"id":1}],"into":{"item":"a"},"at":"end"}"#
        ),
    ]

    @Test("do what the same edits in JSON do", arguments: table + refused)
    func same(edit: ListEdit, json: String) throws {
        let list = try Snapshot(json: state)
        let wanted = EditBatch.Effect(of: { try list.applying(EditBatch(json: "[\(json)]")) })
        #expect(EditBatch.Effect(of: { try list.applying(edit) }) == wanted)
        #expect(wanted.isRefusal == Self.refused.contains { $0.1 == json })
    }

    @Test("what cannot be encoded is an error, and what does not fit names its place")
    func unfit() throws {
        let list = try Snapshot(json: state)
        #expect(throws: EncodingError.self) { try list.applying(.update("a", ["n": Double.nan])) }
        let refusal = #expect(throws: EditError.self) { try list.applying(.remove("a"), .move("x", after: "y")) }
        #expect(refusal?.summary == "unknown-id /1/items/0, anchor-not-found /1/after")
        var limits = StateLimits()
        limits.maxEdits = 1
        #expect(throws: EditError.self) { try list.applying([.clear(), .clear()], limits: limits) }
    }

    @Test("another state's items take the place of a section's")
    func replacing() throws {
        let list = try Snapshot(json: state)
        let other = try Snapshot(
            json: #"[{"no":"d","is":1},{"no":"a","title":"A"}]"#, shape: .pointers(idAt: JSONPointer("/no")))
        let edited = try list.replacing(itemsOf: "s", by: other)
        #expect(edited.snapshot.outline == #"s[d={"no":"d","is":1} a={"no":"a","title":"A"}] t={"title":"T"}[f] u[]"#)
        let change = Changeset(from: list, to: edited.snapshot, marks: edited.marks, shared: edited.shared)
        #expect(change.counts == OperationCounts(deletions: 3, moves: 1, updates: 2))
        let nested = try Snapshot(
            json: #"{"sections":[{"id":"s","items":[{"id":"x","items":["y"]}]},{"id":"1","items":["z"]}]}"#)
        #expect(try list.replacing(itemsOf: "t", by: nested).snapshot.sections[1].rows.map(\.id) == ["x", "y", "z"])
        #expect(try list.replacing(itemsOf: "s", by: .empty).snapshot.outline == #"s[] t={"title":"T"}[f] u[]"#)
        #expect(throws: EditError.self) { try list.replacing(itemsOf: "v", by: other) }
        #expect(throws: EditError.self) { try list.replacing(itemsOf: "u", by: other) }
    }
}

extension EditBatch {
    /// What comes of a batch: the state and the marks, or where it was refused and why.
    struct Effect: Equatable, CustomStringConvertible {
        let description: String
        let isRefusal: Bool

        init(of apply: () throws -> (snapshot: Snapshot, marks: Marks, shared: SharedRuns?)) {
            do {
                let edited = try apply()
                let change = Changeset(from: edited.snapshot, to: edited.snapshot, marks: edited.marks)
                (description, isRefusal) = ("\(edited.snapshot.outline)\n\(change)", false)
            } catch {
                (description, isRefusal) = ((error as? EditError)?.summary ?? "\(error)", true)
            }
        }
    }
}
