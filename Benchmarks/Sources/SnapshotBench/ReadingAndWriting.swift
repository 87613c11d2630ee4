import CAllocations
import SnapshotKit
@_spi(Measuring) import SnapshotKit

/// JSON → snapshot. The bytes lie in an array with room at its end, as when a server reads a body; copying them is not
/// measured.
func measureReading() throws {
    var table = Table(
        "JSON → snapshot", "document", "bytes", "scanned, GB/s", "asked", "with the table of ids, GB/s", "asked",
        "allocations")
    for (name, json, isAsked) in documents() {
        let runs = max(21, 40_000_000 / json.count)
        let prepare = { [UInt8](copying: json, room: 64) }
        let scan = Stopwatch(runs: runs, prepare: prepare) {
            UInt64(truncatingIfNeeded: (try? Snapshot.countItems(inJSON: $0)) ?? -1)
        }
        let whole = Stopwatch(runs: runs, prepare: prepare) {
            UInt64(truncatingIfNeeded: (try? Snapshot(json: $0, limits: .none).itemCount) ?? -1)
        }
        let (scanned, complete) = (Double(json.count) / scan.median, Double(json.count) / whole.median)
        table.add(
            name, json.count.grouped, scanned.short, Table.atLeast(isAsked ? 1.5 : nil, scanned, "scanning \(name)"),
            complete.short, Table.atLeast(isAsked ? 1 : nil, complete, "reading \(name)"), String(whole.allocations))
        if whole.allocations > 100 { Table.breaches.append("reading \(name): \(whole.allocations) allocations") }
    }
    table.show()
}

private func documents() -> [(String, [UInt8], Bool)] {
    let rows = (0..<1_000).map { Row(id: $0) }
    let flat = [UInt8](rows: rows, Style(contentBytes: 96))
    let large = [UInt8](rows: (0..<10_000).map { Row(id: $0) })
    let pretty = [UInt8](rows: rows, Style(separator: ",\n    "))
    let ids = Array("[\((0..<10_000).map(String.init).joined(separator: ","))]".utf8)
    let names = Array("[\((0..<10_000).map { "\"item\($0)\"" }.joined(separator: ","))]".utf8)
    return [
        ("1,000 items of 129 bytes", flat, true), ("10,000 items of 133 bytes", large, false),
        ("1,000 items, white space between", pretty, false), ("10,000 bare numbers", ids, false),
        ("10,000 bare strings", names, false), ("100 sections of 100 rows", sectioned(), false),
    ]
}

/// A hundred sections with contents of their own, and kinds.
private func sectioned() -> [UInt8] {
    var text = #"{"sections":["#
    for section in 0..<100 {
        text += #"\#(section == 0 ? "" : ","){"id":"s\#(section)","content":{"title":"Section \#(section)"},"items":["#
        for row in 0..<100 {
            text +=
                #"\#(row == 0 ? "" : ","){"id":"r\#(section)-\#(row)","kind":"cell","#
                + #""content":{"text":"Größe \#(row)","n":\#(row)}}"#
        }
        text += "]}"
    }
    return Array((text + "]}").utf8)
}

/// Changeset → bytes, in every dialect, and whole states.
func measureWriting() throws {
    var table = Table("Changeset → JSON, 10,000 rows", "changes", "bytes", "GB/s", "asked", "allocations")
    let rows = (0..<10_000).map { Row(id: $0) }
    let old = try Snapshot(json: [UInt8](rows: rows))
    let other = try Snapshot(json: Change.disjoint.json(after: rows))
    let all = Changeset(from: .empty, to: old)
    add("keyed: a section of 10,000 rows inserted", &table, limit: 2) { all.json(.keyed) }
    let inserted = Changeset(from: try Snapshot(json: [UInt8](rows: rows.prefix(1))), to: old)
    add("keyed: 9,999 rows inserted", &table, limit: 2) { inserted.json(.keyed) }
    let updated = Changeset(from: old, to: try Snapshot(json: [UInt8](rows: rows.map { Row(id: $0.id, version: 1) })))
    add("keyed: 10,000 rows changed", &table, limit: 2) { updated.json(.keyed) }
    let replaced = Changeset(from: old, to: other)
    add("keyed: 10,000 rows removed, 10,000 inserted", &table, limit: nil) { replaced.json(.keyed) }
    let moved = Changeset(from: old, to: try Snapshot(json: Change.shuffle.json(after: rows)))
    add("keyed: full shuffle, no contents", &table, limit: nil) { moved.json(.keyed) }
    let few = Changeset(from: old, to: try Snapshot(json: Change.onePercentMoved.json(after: rows)))
    for dialect in Dialect.allCases {
        add("\(dialect.rawValue): 1 % inserted, deleted, changed, moved", &table, limit: nil) { few.json(dialect) }
    }
    for dialect in Dialect.allCases where dialect != .keyed {
        add("\(dialect.rawValue): 10,000 rows changed", &table, limit: nil) { updated.json(dialect) }
    }
    for dialect in Dialect.allCases where dialect != .keyed {
        add("\(dialect.rawValue): full shuffle", &table, limit: nil) { moved.json(dialect) }
    }
    add("reset: all rows", &table, limit: nil) { old.rowsJSON() }
    add("document", &table, limit: nil) { old.documentJSON() }
    table.show()
}

private func add(_ name: String, _ table: inout Table, limit: Double?, json: () -> [UInt8]) {
    let count = json().count
    let watch = Stopwatch(runs: 101) {
        let bytes = json()
        return UInt64(bytes.count) &+ UInt64(bytes[bytes.count / 2])
    }
    let speed = Double(count) / watch.median
    table.add(name, count.grouped, speed.short, Table.atLeast(limit, speed, name), String(watch.allocations))
    if watch.allocations > 200 { Table.breaches.append("\(name): \(watch.allocations) allocations") }
}

/// Fingerprints, and the digest that comes with them, against the bytes of the state.
func measureHashing() throws {
    var table = Table("Fingerprints, 10,000 rows", "", "GB/s", "allocations")
    let rows = (0..<10_000).map { Row(id: $0) }
    let json = [UInt8](rows: rows)
    let state = try Snapshot(json: json)
    let hash = KeyedHash(seed: 1, 2)
    let fingerprints = Fingerprints(of: state, by: hash)
    let next = try Snapshot(json: Change.onePercent.json(after: rows))
    let change = Changeset(from: state, to: next)
    let works: [(String, () -> UInt64)] = [
        ("fingerprints of all contents", { UInt64(Fingerprints(of: state, by: hash).footprint) }),
        (
            "the same, 99 % known",
            { UInt64(Fingerprints(of: next, from: fingerprints, reusing: change.shared).footprint) }
        ),
        ("the way back", { UInt64(SnapshotDelta(backOver: change).bytes.count) }),
        (
            "the state before, made again",
            { [back = SnapshotDelta(backOver: change)] in UInt64(next.applying([back])?.snapshot.itemCount ?? 0) }
        ),
    ]
    for (name, work) in works {
        let watch = Stopwatch(runs: 101, work: work)
        table.add(name, (Double(json.count) / watch.median).short, String(watch.allocations))
        if watch.allocations > 40 { Table.breaches.append("\(name): \(watch.allocations) allocations") }
    }
    table.show()
}

/// What a snapshot holds on to, as the allocator counts it.
func measureMemory() throws {
    var table = Table(
        "Memory of 10,000 rows", "rows", "JSON, bytes a row", "snapshot, bytes a row", "asked: 1.3 × JSON + 40",
        "packed, bytes a row")
    for (name, json) in memoryDocuments() {
        let before = allocations_live_bytes()
        let state = try Snapshot(json: [UInt8](copying: json, room: 0))
        let held = Double(allocations_live_bytes() - before) / 10_000
        let between = allocations_live_bytes()
        let packed = PackedSnapshot(state, Fingerprints(of: state, by: .process))
        let remembered = Double(allocations_live_bytes() - between) / 10_000
        checksum &+= UInt64(state.itemCount + packed.footprint)
        let size = Double(json.count) / 10_000
        table.add(
            name, size.short, held.short, Table.atMost(1.3 * size + 40, held, "memory of \(name)"), remembered.short)
    }
    table.show()
}

private func memoryDocuments() -> [(String, [UInt8])] {
    func list(_ row: (Int) -> String) -> [UInt8] {
        Array("[\((0..<10_000).map(row).joined(separator: ","))]".utf8)
    }
    return [
        ("ids of 12 bytes, contents of 100", [UInt8](rows: (0..<10_000).map { Row(id: $0) })),
        ("bare numbers", list { String($0) }),
        ("bare strings of 12 bytes", list { "\"item-\(1_000_000 + $0)\"" }),
        ("contents of one digit", list { #"{"id":\#(1_000 + $0 % 9_000 + $0 / 9_000 * 20_000),"content":1}"# }),
        ("one of them collapsed", list { $0 == 0 ? #"{"id":0,"expanded":false}"# : String($0) }),
        ("with kinds", list { #"{"id":\#($0),"kind":"k"}"# }),
    ]
}

extension [UInt8] {
    /// A copy with room for some bytes more.
    init(copying other: [UInt8], room: Int) {
        self = []
        reserveCapacity(other.count + room)
        append(contentsOf: other)
    }
}
