import Testing

@testable import SnapshotKit
@testable import SnapshotViews

@Suite("Views that follow a state")
struct AdvancingTests {
    private static let shapes =
        ViewTests.shapes + [
            StateGenerator.Shape(
                items: 60, sections: 5, nestsOnceIn: 3, changes: 2, contents: ViewGenerator.contents)
        ]

    /// What a view keeps, in a form that can be compared.
    private func summary(_ seen: ViewedState) -> String {
        let sections = seen.arrangement.map { _ in (0..<seen.sectionCount).map { seen.id(ofSection: $0) } }
        return "\(seen.picked as Any) \(seen.spans) \(seen.shownCount) \(seen.rows as Any) \(sections as Any)"
            + " \(seen.arrangement?.items as Any) \(seen.arrangement?.ends as Any)"
    }

    /// The same state, its ids numbers, each written as one or as a string.
    private func spelled(_ json: String, by random: inout SplitMix64) -> String {
        let parts = json.split(separator: "\"id\":\"i", omittingEmptySubsequences: false)
        return parts.dropFirst().reduce(into: String(parts[0])) { spelled, part in
            let digits = part.prefix { $0 != "\"" }
            let isNumber = random.once(in: 2)
            spelled += isNumber ? "\"id\":\(digits)\(part.dropFirst(digits.count + 1))" : "\"id\":\"\(part)"
        }
    }

    @Test("see what those that look anew see", arguments: shapes, [false, true])
    func histories(shape: StateGenerator.Shape, readsUpon: Bool) throws {
        var log = FailureLog()
        var (steps, followed, told) = (0, 0, 0)
        for seed in Effort.seeds(40) where !log.isFull {
            var (generator, views) = (StateGenerator(seed: seed, shape: shape), ViewGenerator(seed: seed &+ 7))
            var (model, spelling) = (generator.state(), SplitMix64(seed: seed))
            var snapshot = try Snapshot(json: spelled(model.json, by: &spelling))
            var all: [ViewedState] = []
            for _ in 0..<12 { all.append(ViewedState(try StateView(json: views.view().json), of: snapshot)) }
            for step in 0..<6 {
                model = generator.next(after: model)
                let json = spelled(model.json, by: &spelling)
                let next =
                    readsUpon
                    ? try Snapshot.reading(json: Array(json.utf8), shape: .native, upon: snapshot)
                    : StateReading(try Snapshot(json: json))
                let respelled = try Snapshot(json: spelled(model.json, by: &spelling))
                let change = StateStep(Changeset(from: snapshot, to: next.snapshot, shared: next.shared))
                steps += 1
                followed += change.parts == nil ? 0 : 1
                for index in all.indices {
                    let (before, view) = (all[index], all[index].view)
                    let name = "seed \(seed) step \(step) \(String(decoding: view.json, as: UTF8.self))"
                    let (seen, isSame) = before.advanced(over: change)
                    let anew = ViewedState(view, of: next.snapshot)
                    if summary(seen) != summary(anew) {
                        log.add(["\(name): \(summary(seen)), not \(summary(anew)) of \(model.json)"])
                    }
                    if summary(ViewedState(view, of: respelled)) != summary(anew) {
                        log.add(["\(name): the spelling of an id changes what is seen of \(json)"])
                    }
                    if isSame {
                        told += 1
                        let differs = !Changeset(from: before.snapshot, to: anew.snapshot).isEmpty
                        if differs { log.add(["\(name): is not the same of \(model.json)"]) }
                    }
                    all[index] = anew
                }
                snapshot = next.snapshot
            }
        }
        #expect(log.count == 0, "\(log.summary)")
        #expect(followed * 4 > steps * 3, "\(followed) of \(steps) steps are followed")
        #expect(told > steps, "\(told) views are the same in \(steps) steps")
    }

    private func step(_ old: String, _ new: String) throws -> (Snapshot, StateStep) {
        let (old, new) = (try Snapshot(json: old), try Snapshot(json: new))
        return (old, StateStep(Changeset(from: old, to: new)))
    }

    @Test(
        "what is not shown is no change",
        arguments: [
            (#"{"where":[{"at":"/content/a","is":1}]}"#, true), (#"{"limit":1}"#, true),
            (#"{"fields":["/content/a"]}"#, true),
            (#"{"order":[{"at":"/content/a"}]}"#, false), (#"{"order":[{"at":"/content/b"}],"limit":1}"#, true),
            (#"{"sections":["other"]}"#, true), ("{}", false),
        ])
    func unseen(view: String, isSame: Bool) throws {
        let (old, step) = try step(
            #"[{"id":"x","content":{"a":1,"b":1}},{"id":"y","content":{"a":2,"b":3}}]"#,
            #"[{"id":"x","content":{"a":1,"b":1}},{"id":"y","content":{"a":2,"b":4}}]"#)
        #expect(ViewedState(try StateView(json: view), of: old).advanced(over: step).isSame == isSame)
    }

    @Test("a step from elsewhere is looked at anew")
    func elsewhere() throws {
        let (_, step) = try step(#"["a"]"#, #"["a","b"]"#)
        let other = ViewedState(.all, of: try Snapshot(json: #"["c"]"#))
        let (seen, isSame) = other.advanced(over: step)
        #expect(seen.rowCount == 2 && !isSame)
    }

    @Test("marks are those of rows and sections that are shown")
    func marks() throws {
        let state = try Snapshot(json: #"{"sections":[{"id":"s","items":["a","b"]},{"id":"t","items":["c"]}]}"#)
        let batch = try EditBatch(
            json: #"[{"op":"reload","items":["a","b","c"]},{"op":"reconfigure","sections":["s","t"]}]"#)
        let marks = try state.applying(batch).marks
        let shown = { (view: String) in ViewedState(try StateView(json: view), of: state).shown(of: marks).count }
        #expect(try shown("{}") == 5)
        #expect(try shown(#"{"sections":["s"],"where":[{"at":"/id","not":"b"}]}"#) == 2)
        #expect(try shown(#"{"sections":[]}"#) == 0)
    }

    @Test("holds at most eight bytes an item that it could show, and 4 KiB")
    func footprint() throws {
        let items = (0..<5_000).map {
            #"{"id":\#($0),"content":{"n":\#($0 * 7 % 100)},"expanded":false,"items":["c\#($0)"]}"#
        }
        let state = try Snapshot(json: "[\(items.joined(separator: ","))]")
        let view = try StateView(json: #"{"where":[{"at":"/id","not":3}],"order":[{"at":"/content/n"}]}"#)
        #expect(ViewedState(view, of: state).footprint <= 8 * 10_000 + 4_096)
    }
}
