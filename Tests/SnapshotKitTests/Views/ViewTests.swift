import SnapshotKit
import Testing

@testable import SnapshotViews

@Suite("What views show")
struct ViewTests {
    static let flat = StateGenerator.Shape(items: 24, contents: ViewGenerator.contents)
    static let outline = StateGenerator.Shape(
        items: 24, sections: 4, nestsOnceIn: 2, changes: 5, contents: ViewGenerator.contents)
    static let open = StateGenerator.Shape(
        items: 24, sections: 4, nestsOnceIn: 3, collapses: false, contents: ViewGenerator.contents)

    static let shapes = [flat, outline, open]

    @Test("as the naive one says, and changesets between them are minimal", arguments: shapes)
    func oracle(shape: StateGenerator.Shape) throws {
        var log = FailureLog()
        for seed in Effort.seeds(60) where !log.isFull {
            var (generator, views) = (StateGenerator(seed: seed, shape: shape), ViewGenerator(seed: seed))
            var model = generator.state()
            let tree = views.view()
            let view = try StateView(json: tree.json)
            var old: State?
            for _ in 0..<4 {
                let snapshot = try Snapshot(json: model.json)
                let new = State(model: NaiveView(tree).applied(to: model), snapshot: snapshot.applying(view))
                do { try new.requireFaithful() } catch {
                    log.add(["seed \(seed) \(tree.json) of \(model.json): \(error), not \(new.model.json)"])
                    break
                }
                if let old { log.add(PairCheck.failures(from: old, to: new).map { "seed \(seed) \($0)" }) }
                (old, model) = (new, generator.next(after: model))
            }
        }
        #expect(log.count == 0, "\(log.summary)")
    }

    private static let list = #"""
        {"content":{"title":"T","total":3},"sections":[
            {"id":"a","content":{"name":"A","more":[1]},"items":[
                {"id":1,"content":{"n":1e999999999999999999999, "t" : "x\u00e9","deep":{"one":1.50,"two":2}},
                    "kind":"k"},
                {"id":"2","content":7},
                {"id":"p","expanded":false,"items":[{"id":"c","content":{"n":1}},{"id":"d","content":{"n":0}}]}]},
            {"id":"b","content":5,"items":[]}]}
        """#

    private func shown(_ view: String) throws -> String {
        String(decoding: try Snapshot(json: Self.list).applying(StateView(json: view)).documentJSON(), as: UTF8.self)
    }

    @Test("members that are shown are kept as they were written, in their order")
    func fields() throws {
        let view = #"{"fields":["/content/deep/one","/content/t"],"sectionFields":["/content/more/0"],"listFields":[]}"#
        #expect(
            try shown(view) == #"""
                {"sections":[{"id":"a","content":{},"items":[\#
                {"id":1,"content":{"t":"x\u00e9","deep":{"one":1.50}},"kind":"k"},{"id":"2"},\#
                {"id":"p","expanded":false,"items":[{"id":"c","content":{}},{"id":"d","content":{}}]}]},\#
                {"id":"b","items":[]}]}
                """#)
        #expect(
            try shown(#"{"fields":[],"sections":["b"],"listFields":["/content/total"]}"#) == #"""
                {"content":{"total":3},"sections":[{"id":"b","content":5,"items":[]}]}
                """#)
    }

    @Test("the limit counts items of the top level, with all below them")
    func limit() throws {
        let ids = { (view: String) in
            try Snapshot(json: Self.list).applying(StateView(json: view)).sections.flatMap(\.items).map(\.id)
        }
        #expect(try ids(#"{"limit":2}"#) == [1, "2"])
        #expect(try ids(#"{"limit":0}"#) == [])
        #expect(try ids(#"{"limit":99999}"#) == [1, "2", "p"])
        #expect(try ids(#"{"order":[{"at":"/content/n","descending":true},{"at":"/id"}],"limit":2}"#) == [1, "2"])
    }

    @Test("an id is the same whether it is written as a number or as a string")
    func ids() throws {
        let ids = { (test: String) in
            try Snapshot(json: Self.list).applying(StateView(json: #"{"where":[{"at":"/id",\#(test)}]}"#))
                .sections.flatMap(\.items).map(\.id)
        }
        #expect(try ids(#""is":1"#) == [1])
        #expect(try ids(#""is":"1""#) == [1])
        #expect(try ids(#""in":[1.0,2]"#) == [1, "2"])
        #expect(try ids(#""not":2"#) == [1, "p"])
        #expect(try ids(#""above":0"#) == [1, "2"])
        #expect(try ids(#""has":"1""#) == [1])
        #expect(try ids(#""has":"P","fold":true"#) == ["p"])
        #expect(try ids(#""is":"\u0032""#) == ["2"])
        #expect(try ids(#""atMost":"p""#) == ["p"])
    }

    @Test("what shows all there is costs nothing")
    func all() throws {
        let snapshot = try Snapshot(json: Self.list)
        #expect(snapshot.applying(.all).footprint == snapshot.footprint)
        #expect(try shown("{}") == String(decoding: snapshot.documentJSON(), as: UTF8.self))
    }

    @Test("marks of what is not shown are none")
    func marks() throws {
        let snapshot = try Snapshot(json: Self.list)
        let batch = try EditBatch(json: #"[{"op":"reload","items":[1,"2"]}]"#)
        let (_, marks, _) = try snapshot.applying(batch)
        let seen = snapshot.applying(try StateView(json: #"{"where":[{"at":"/content","is":7}]}"#))
        let change = Changeset(from: seen, to: seen, marks: marks)
        #expect(String(decoding: change.json(.counts), as: UTF8.self) == #"{"items":{"updated":1}}"#)
    }
}
