import SnapshotKit
import Testing

@Suite("Building states")
struct BuilderTests {
    @Test("what is built is what the same JSON reads as")
    func example() throws {
        var builder = Snapshot.Builder()
        try builder.section("in\"box", content: JSONText(#"{"title":"Inbox"}"#)) {
            $0.item(17, content: try JSONText(" [1, 2.0] "), kind: "mail")
            try $0.item("drafts", isExpanded: false) {
                $0.item("draft-1", content: try JSONText { $0.append("null") })
                $0.item("\u{E9}\u{1F600}\\")
            }
        }
        builder.section("empty", isExpanded: false)
        builder.section("typed", items: [3, 1, 2], id: { ElementID("n\($0)") }, kind: { $0 == 1 ? "one" : nil }) {
            if $0 != 2 { $1.append($0) }
        }
        let expected =
            #"{"sections":[{"id":"in\"box","content":{"title":"Inbox"},"items":[{"id":17,"content":[1, 2.0],"#
            + #""kind":"mail"},"#
            + #"{"id":"drafts","expanded":false,"items":[{"id":"draft-1","content":null},{"id":"é😀\\"}]}]},"#
            + #"{"id":"empty","expanded":false,"items":[]},"#
            + #"{"id":"typed","items":[{"id":"n3","content":3},{"id":"n1","content":1,"kind":"one"},{"id":"n2"}]}]}"#
        #expect(String(decoding: try builder.build().documentJSON(), as: UTF8.self) == expected)
        #expect(try Snapshot.Builder().build().sectionCount == 0)
    }

    @Test("duplicates and ids that are none are refused, each with its place")
    func refusals() throws {
        var builder = Snapshot.Builder()
        builder.section("s") {
            $0.item("a")
            $0.item("b") { $0.item("a") }
            $0.item("")
            $0.item("x\u{7}")
        }
        builder.section("s")
        #expect(
            pointers(of: builder, "duplicate-id") == [
                "/sections/0/id", "/sections/1/id", "/sections/0/items/0/id", "/sections/0/items/1/items/0/id",
            ])
        #expect(pointers(of: builder, "invalid-id") == ["/sections/0/items/2/id", "/sections/0/items/3/id"])
    }

    @Test("no content reaches beyond its place")
    func contents() throws {
        #expect(throws: JSONError.self) { try JSONText(#"1},{"id":"x""#) }
        #expect(throws: JSONError.self) { try JSONText("") }
        #expect(throws: JSONError.self) { try JSONText { $0.append("[") } }
        var builder = Snapshot.Builder()
        builder.section("s", items: ["1", #"1},{"id":"x""#], id: { ElementID($0.prefix(1).description) }) {
            $1.append(verbatim: $0)
        }
        #expect(pointers(of: builder, "invalid-content") == ["/sections/0/items/1/content"])
    }

    @Test("limits hold")
    func limits() throws {
        var builder = Snapshot.Builder()
        builder.section("s", items: 0..<10, id: { ElementID($0) }, writing: { _, _ in })
        var limits = StateLimits()
        limits.maxItems = 9
        #expect(throws: StateError.self) { try builder.build(limits: limits) }
    }

    private func pointers(of builder: Snapshot.Builder, _ code: String) -> [String] {
        do throws(StateError) {
            _ = try builder.build()
        } catch {
            if case .invalid(let violations) = error { return violations.filter { $0.code == code }.map(\.pointer) }
        }
        return []
    }
}
