import SnapshotKit
import SnapshotViews

/// Views and windows: made anew, advanced by a commit, and the cost of an answer.
func measureViews() throws {
    for count in [10_000, 100_000] {
        let state = try Snapshot(json: [UInt8](rows: (0..<count).map { Row(id: $0) }), limits: .none)
        var table = Table("\(count.grouped) rows seen through a view", "", "ms", "asked, ms", "allocations")
        let limit: Double = count == 10_000 ? 2 : 40
        for (name, json) in views {
            let view = try StateView(json: json)
            let watch = Stopwatch(runs: count == 10_000 ? 51 : 11) { UInt64(state.applying(view).rowCount) }
            table.add(
                name, (watch.median / 1e6).short, Table.atMost(limit, watch.median / 1e6, "\(name) of \(count)"),
                watch.allocations.grouped)
        }
        table.show()
    }
    try measureAdvancing()
    try measureAnswers()
    try measureWindows()
}

private let views = [
    ("a test that half of them pass", #"{"where":[{"at":"/content/price","below":550000}]}"#),
    ("in order of a number", #"{"order":[{"at":"/content/price","descending":true}]}"#),
    ("in order of texts of which many begin alike", #"{"order":[{"at":"/content/subtitle"},{"at":"/id"}]}"#),
    ("in groups", #"{"group":{"at":"/content/price","prefix":2},"sectionOrder":[{"at":"/id"}]}"#),
    ("one field of four", #"{"fields":["/content/price"]}"#),
    (
        "all of that, and the first 50",
        #"{"where":[{"at":"/content/price","below":550000}],"order":[{"at":"/content/price"}],"#
            + #""limit":50,"fields":["/content/price"]}"#
    ),
]

/// 1,000 views of one list, and a commit of ten changes.
private func measureAdvancing() throws {
    let (count, viewers) = (10_000, 1_000)
    let rows = (0..<count).map { Row(id: $0) }
    let old = try Snapshot(json: [UInt8](rows: rows), limits: .none)
    let step = count / 10
    let changes: [(String, [Row])] = [
        ("ten contents", rows.map { $0.id % step == 5 ? Row(id: $0.id, version: 1) : $0 }),
        (
            "five rows go and five come",
            rows.flatMap { row -> [Row] in
                switch row.id % (2 * step) {
                case 5: []
                case 7: [row, Row(id: row.id + 1 << 30)]
                default: [row]
                }
            }
        ),
        ("ten rows move", rows.filter { $0.id % step == 5 } + rows.filter { $0.id % step != 5 }),
    ]
    var table = Table(
        "\(viewers.grouped) views of \(count.grouped) rows follow a commit", "", "µs a view", "asked", "same")
    for (name, rows) in changes {
        let new = try Snapshot(json: [UInt8](rows: rows), limits: .none)
        let change = Changeset(from: old, to: new)
        for (sort, json) in [
            ("tests", { #"{"where":[{"at":"/content/price","below":\#(500_000 + $0)}]}"# }),
            ("orders", { #"{"where":[{"at":"/id","not":"\#($0)"}],"order":[{"at":"/content/price"}]}"# }),
            (
                "groups",
                { #"{"where":[{"at":"/id","not":"\#($0)"}],"group":{"at":"/content/price","prefix":2}}"# }
            ),
            ("orders and a limit", { #"{"order":[{"at":"/content/title"}],"limit":\#(50 + $0 % 50)}"# }),
        ] as [(String, (Int) -> String)] {
            let seen = try (0..<viewers).map { ViewedState(try StateView(json: json($0)), of: old) }
            var same = 0
            let watch = Stopwatch(runs: 11) {
                let step = StateStep(change)
                same = 0
                var sum: UInt64 = 0
                for seen in seen {
                    let next = seen.advanced(over: step)
                    if next.isSame { same += 1 }
                    sum &+= UInt64(next.seen.rowCount)
                }
                return sum
            }
            let micros = watch.median / 1000 / Double(viewers)
            table.add("\(name), \(sort)", micros.short, Table.atMost(50, micros, "\(name), \(sort)"), same.grouped)
        }
    }
    table.show()
}

/// The answer after a commit to a reader of a whole view, for which both states are made.
private func measureAnswers() throws {
    let count = 10_000
    let rows = (0..<count).map { Row(id: $0) }
    let old = try Snapshot(json: [UInt8](rows: rows), limits: .none)
    let next = rows.map { $0.id % 1_000 == 5 ? Row(id: $0.id, version: 1) : $0 }
    let step = StateStep(Changeset(from: old, to: try Snapshot(json: [UInt8](rows: next), limits: .none)))
    var table = Table("All of a view of \(count.grouped) rows behind ten changes", "", "ms", "allocations")
    for (name, json) in views {
        let seen = ViewedState(try StateView(json: json), of: old)
        let now = seen.advanced(over: step).seen
        let watch = Stopwatch(runs: 51) {
            UInt64(Changeset(from: seen.snapshot, to: now.snapshot).json(.keyed).count)
        }
        table.add(name, (watch.median / 1e6).short, watch.allocations.grouped)
    }
    table.show()
}

/// A window after one commit: both windows, the changeset between them, and its JSON.
private func measureWindows() throws {
    let count = 100_000
    let rows = (0..<count).map { Row(id: $0) }
    let old = try Snapshot(json: [UInt8](rows: rows), limits: .none)
    let next = rows.dropFirst().map { $0.id == count / 2 ? Row(id: $0.id, version: 1) : $0 }
    let new = try Snapshot(json: [UInt8](rows: next), limits: .none)
    let step = StateStep(Changeset(from: old, to: new))
    var table = Table("A window of \(count.grouped) rows behind a commit", "", "ms", "asked", "allocations")
    guard let id = old.item(at: ItemPath(section: 0, row: count / 2))?.id else { return }
    for (name, json) in [("of all", "{}"), ("of a view in order", #"{"order":[{"at":"/content/price"}]}"#)] {
        let seen = ViewedState(try StateView(json: json), of: old)
        let now = seen.advanced(over: step).seen
        for size in [25, 500] {
            let window = StateWindow(.around(id), before: size, after: size)
            let position = seen.window(window).position
            let watch = Stopwatch(runs: 51) {
                guard let before = seen.window(at: position) else { return 0 }
                let after = now.window(window, since: WindowBase(seen, at: position))
                return UInt64(Changeset(from: before.state, to: after.state).json(.keyed).count)
            }
            table.add(
                "\(2 * size + 1) rows \(name)", (watch.median / 1e6).short,
                Table.atMost(0.3, watch.median / 1e6, "\(size) rows \(name)"), watch.allocations.grouped)
        }
    }
    table.show()
}
