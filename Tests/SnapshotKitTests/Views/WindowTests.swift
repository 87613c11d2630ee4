import SnapshotKit
import Testing

@testable import SnapshotViews

@Suite("Windows")
struct WindowTests {
    /// A window as shown, in both forms.
    private struct Shown {
        let naive: NaiveWindow
        let window: WindowedState
        let state: State
        let model: Model
        let seen: ViewedState

        init(_ window: StateWindow, _ model: Model, _ seen: ViewedState, since base: Shown?, forgets: Bool = false)
            throws
        {
            naive = NaiveWindow(
                window, of: model,
                since: base.map { (forgets ? Model() : $0.model, $0.naive.anchorRow) })
            self.window = seen.window(
                window, since: base.map { WindowBase(forgets ? nil : $0.seen, at: $0.window.position) })
            state = State(rows: naive.rows, list: model.content, snapshot: self.window.state)
            (self.model, self.seen) = (model, seen)
        }

        func requireFaithful() throws {
            let rows = try readRows(window.state.rowsJSON())
            try require(rows == naive.rows, "the rows are \(rows.summary), not \(naive.rows.summary)")
            try require(window.anchor.map { Text($0.text) } == naive.anchor, "the anchor is \(window.anchor as Any)")
            try require(window.above == naive.above && window.below == naive.below, "outside are \(window.position)")
            guard let again = seen.window(at: window.position) else { throw Refusal("no window at its place") }
            try require(again.state.rowsJSON() == window.state.rowsJSON(), "another window at its place")
            try require(again.anchor == window.anchor && again.below == window.below, "another anchor at its place")
        }
    }

    private static let rowDialects = Dialect.allCases.filter { $0 != .jsonPatch }

    private func window(_ random: inout SplitMix64) -> StateWindow {
        let anchor: StateWindow.Anchor =
            switch random.below(6) {
            case 0: .start
            case 1: .end
            case 2: .row(random.below(30))
            default: .around(ElementID("i\(random.below(24))"))
            }
        return StateWindow(anchor, before: random.below(5), after: random.below(7))
    }

    @Test(
        "hold the rows that the naive one holds, and changesets between them are minimal", arguments: ViewTests.shapes)
    func oracle(shape: StateGenerator.Shape) throws {
        var log = FailureLog()
        for seed in Effort.seeds(80) where !log.isFull {
            var (generator, views) = (StateGenerator(seed: seed, shape: shape), ViewGenerator(seed: seed))
            var random = SplitMix64(seed: seed ^ 0xAC)
            let tree = seed % 2 == 0 ? Tree.object([:]) : views.view()
            let view = try StateView(json: tree.json)
            var model = generator.state()
            var spec = window(&random)
            var base: Shown?
            for step in 0..<5 {
                let seen = ViewedState(view, of: try Snapshot(json: model.json))
                if random.once(in: 3) { spec = window(&random) }
                let shown = try Shown(
                    spec, NaiveView(tree).applied(to: model), seen, since: base, forgets: random.once(in: 5))
                let name = "seed \(seed) step \(step) \(spec) \(tree.json)"
                do { try shown.requireFaithful() } catch {
                    log.add(["\(name) of \(shown.model.json): \(error)"])
                    break
                }
                if let base {
                    let failures = PairCheck.failures(
                        from: base.state, to: shown.state, dialects: Self.rowDialects,
                        style: random.once(in: 3) ? .patch : random.once(in: 2) ? .delta : .full)
                    log.add(failures.map { "\(name) \($0)" })
                }
                base = shown
                model = random.once(in: 8) ? generator.state() : generator.next(after: model)
            }
        }
        #expect(log.count == 0, "\(log.summary)")
    }

    @Test(
        "a row whose parent is outside says where it stands",
        arguments: [
            (1, #"{"id":"b","level":1,"parent":"a","children":2},{"id":"c","level":2,"parent":"b"}"#, "b"),
            (2, #"{"id":"c","level":2,"parent":"b"},{"id":"d","level":2,"parent":"b"}"#, "c"),
        ])
    func outside(row: Int, rows: String, anchor: String) throws {
        let state = try Snapshot(json: #"[{"id":"a","items":[{"id":"b","items":["c","d"]},"e"]}]"#)
        let window = state.window(StateWindow(.row(row), after: 1))
        #expect(
            String(decoding: window.state.rowsJSON(), as: UTF8.self)
                == #"{"sections":[{"id":"main","items":[\#(rows)]}]}"#)
        var writer = JSONWriter()
        window.write(into: &writer)
        #expect(
            String(decoding: writer.bytes(), as: UTF8.self)
                == #"{"anchor":"\#(anchor)","above":\#(row),"below":\#(3 - row)}"#)
    }

    @Test("a child that goes outside of a window is an update of its parent")
    func childrenOutside() throws {
        let old = try Snapshot(json: #"[{"id":"a","items":["b","c"]}]"#)
        let new = try Snapshot(json: #"[{"id":"a","items":["b"]}]"#)
        let window = StateWindow(.start, after: 0)
        let change = Changeset(from: old.window(window).state, to: new.window(window).state)
        #expect(
            String(decoding: change.json(.keyed), as: UTF8.self)
                == #"[{"op":"update","items":[{"id":"a","children":1}],"as":"reconfigure"}]"#)
    }

    @Test("nothing has an anchor")
    func empty() throws {
        let window = Snapshot.empty.window(StateWindow(.around("x")))
        #expect(window.anchor == nil && window.above == 0 && window.below == 0)
        var writer = JSONWriter()
        window.write(into: &writer)
        #expect(String(decoding: writer.bytes(), as: UTF8.self) == #"{"anchor":null,"above":0,"below":0}"#)
    }

    @Test("costs what it shows, however long the list is")
    func cost() throws {
        let list = try Snapshot(json: "[\((0..<20_000).map { "\"item-\($0)\"" }.joined(separator: ","))]")
        let window = list.window(StateWindow(.around("item-10000"), before: 5, after: 5))
        #expect(window.state.itemCount == 11)
        #expect(window.state.textBytes < 400)
        #expect(window.state.rowsJSON().count < 300)
    }
}
