import SnapshotKit
import Testing

@Suite("Whether a state is shorter than its changes")
struct StateSizeTests {
    @Test("to the byte, as a reset writes it", arguments: Dialect.allCases.filter(\.isAdopted))
    func exact(dialect: Dialect) throws {
        for seed in Effort.seeds(30) {
            var generator = StateGenerator(seed: seed, shape: .init(items: 12, sections: 3, nestsOnceIn: 2))
            let state = try State(generator.state()).snapshot
            let length = (dialect == .jsonPatch ? state.documentJSON() : state.rowsJSON()).count
            for bytes in [0, length / 2, length - 1, length] { #expect(!state.isShorter(than: bytes, in: dialect)) }
            for bytes in [length + 1, length * 2, .max] { #expect(state.isShorter(than: bytes, in: dialect)) }
        }
    }

    @Test("counts have no state to compare with")
    func counts() { #expect(!Snapshot.empty.isShorter(than: .max, in: .counts)) }
}
