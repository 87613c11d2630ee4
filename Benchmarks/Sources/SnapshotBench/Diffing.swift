import SnapshotKit
@_spi(Measuring) import SnapshotKit

/// Two given states → changeset, against hashing every id of both lists once.
func measureDiffs(rows count: Int, runs: Int) throws {
    let rows = (0..<count).map { Row(id: $0) }
    let old = try Snapshot(json: [UInt8](rows: rows), limits: .none)
    var table = Table(
        "\(count.grouped) flat rows: two snapshots → changeset", "", "× floor", "asked", "µs", "floor, µs",
        "allocations",
        "operations")
    for change in Change.allCases {
        let new = try Snapshot(json: change.json(after: rows), limits: .none)
        let watch = Stopwatch(runs: runs) {
            old.foldedIDHashes() ^ new.foldedIDHashes()
        } work: {
            UInt64(truncatingIfNeeded: Changeset(from: old, to: new).counts.total)
        }
        // The target is set for 10,000 rows; larger lists only show how the time grows.
        let asked = count == 10_000 ? change.limit : nil
        let limit = Table.atMost(asked, watch.ratio, "\(count.grouped) rows, \(change.rawValue)")
        let isHidden = watch.allocations > Changeset.allocationBound
        if isHidden { Table.breaches.append("\(change.rawValue): \(watch.allocations) allocations") }
        table.add(
            change.rawValue, watch.ratio.short, limit, (watch.median / 1000).short, (watch.floor / 1000).short,
            String(watch.allocations), Changeset(from: old, to: new).counts.total.grouped)
    }
    table.show()
}

extension Changeset {
    /// More allocations than these can only be ones that grow with the rows.
    fileprivate static let allocationBound = 60
}
