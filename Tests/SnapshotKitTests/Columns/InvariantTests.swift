import Testing

@testable import SnapshotKit

/// Every state built by the other tests is checked; these are states that nothing builds.
@Suite("Invariants of columns")
struct InvariantTests {
    private let state: Columns

    init() throws {
        let nested = #"{"id":"a","content":1,"items":["b",{"id":"c","kind":"k"}]}"#
        state = try Snapshot(json: #"[\#(nested),{"id":"d","expanded":false,"items":["e"]}]"#).columns
    }

    private func changed(
        bytes: [UInt8]? = nil, _ change: (inout [Node], inout [SectionNode], inout [Payload]) -> Void = { _, _, _ in }
    ) -> String? {
        var (nodes, sections, payloads) = (state.nodes, state.sections, state.payloads)
        change(&nodes, &sections, &payloads)
        return Columns(
            text: TextRope(bytes ?? state.text.bytes), nodes: nodes, sections: sections, payloads: payloads,
            itemTable: state.itemTable, sectionTable: state.sectionTable, rowOfItem: state.rowOfItem,
            itemOfRow: state.itemOfRow
        ).firstBrokenInvariant
    }

    @Test("each break of one is found")
    func breaks() {
        #expect(changed() == nil)
        #expect(changed(bytes: state.text.bytes.dropLast(8) + [1]) == "no padding after the text")
        #expect(changed { nodes, _, _ in nodes[1].idStart = .max } == "the id of item 1")
        #expect(changed { _, _, payloads in payloads[0].contentCount = .max } == "the content of item 0")
        #expect(changed { _, _, payloads in payloads[2].kindStart += 1 } == "the kind of item 2")
        #expect(
            changed { _, _, payloads in payloads.removeLast() } == "the number of payloads is not that of the items")
        #expect(changed { _, sections, _ in sections[0].endItem -= 1 } == "items outside of the sections")
        #expect(changed { nodes, _, _ in nodes[1].parent = -1 } == "the position of item 1")
        #expect(changed { nodes, _, _ in nodes[0].end += 1 } == "the position of item 3")
        #expect(changed { nodes, _, _ in nodes[4].flags.remove(.isHidden) } == "the row of item 4")
        #expect(changed { _, sections, _ in sections[0].endRow += 1 } == "the rows of section 0")
        #expect(changed { nodes, _, _ in nodes[1].idStart = nodes[2].idStart } == "the hash of item 1")
        let empty = Columns(text: state.text, nodes: [], sections: [], itemTable: state.itemTable)
        #expect(empty.firstBrokenInvariant == "a table")
        let window = Columns(
            text: state.text, nodes: state.nodes, sections: state.sections, payloads: state.payloads,
            rowOfItem: state.rowOfItem, itemOfRow: state.itemOfRow, childCounts: [1])
        #expect(window.firstBrokenInvariant == "the number of child counts is not that of the items")
        let twice = changed { nodes, _, _ in (nodes[1].idStart, nodes[1].hash) = (nodes[2].idStart, nodes[2].hash) }
        #expect(twice == "item 1 is not found by its id")
    }
}
