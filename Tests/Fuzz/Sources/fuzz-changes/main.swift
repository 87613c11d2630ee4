// Two states, and the changes between them: valid JSON in every dialect; applied by the simplest client, they give the
// target.

import CFuzzer
import DiffClient
import SnapshotKit

@testable import FuzzSupport

private let hash = KeyedHash(seed: 1, 2)

/// Two documents separated by a byte that no JSON holds, or two states made of the bytes: each of one part, or both of
/// all bytes, once with a few changed, so that the states have most in common.
private func states(_ bytes: [UInt8]) -> (Snapshot, Snapshot)? {
    guard !bytes.isEmpty else { return nil }
    if let border = bytes.firstIndex(of: 0xFF) {
        let (one, other) = (Array(bytes[..<border]), Array(bytes[(border + 1)...]))
        guard let old = try? Snapshot(json: one) else { return nil }
        checkReading(other, upon: old)
        guard let new = try? Snapshot(json: other) else { return nil }
        return (old, new)
    }
    var maker = StateMaker(bytes)
    let one: [UInt8]
    let other: [UInt8]
    if maker.choices.next(4) == 0 {
        (one, other) = (maker.state(), maker.state())
    } else {
        var changed = bytes
        for _ in 0...maker.choices.next(4) {
            changed[changed.count - 1 - maker.choices.next(changed.count)] = UInt8(maker.choices.next(256))
        }
        var second = StateMaker(Array(changed.reversed()))
        var first = StateMaker(Array(bytes.reversed()))
        (one, other) = (first.state(), second.state())
    }
    guard let old = try? Snapshot(json: one), let new = try? Snapshot(json: other) else {
        fatalError(
            "a state that was made does not read: \(String(decoding: one, as: UTF8.self)) "
                + String(decoding: other, as: UTF8.self)
        )
    }
    checkReading(other, upon: old)
    return (old, new)
}

/// A document read with a known state gives the same as without it, and so do the changes between them.
private func checkReading(_ json: [UInt8], upon known: Snapshot) {
    let members = Envelope.Members(states: ["state"], allowsBareState: true)
    let read = { (known: Snapshot?) in Result { try Envelope(json: json, members: members, known: known) } }
    switch (read(known), read(nil)) {
    case (.success(let one), .success(let other)):
        check(
            one.states["state"]?.documentJSON() == other.states["state"]?.documentJSON(),
            "reads as another state upon a known one")
        guard let state = one.states["state"] else { return }
        let change = Changeset(from: known, to: state, shared: one.shared)
        check(
            change.json(.keyed) == Changeset(from: known, to: state).json(.keyed), "changes differ when some are known")
        let carried = Fingerprints(of: state, from: Fingerprints(of: known, by: hash), reusing: change.shared)
        check(
            carried.areOfSameState(as: Fingerprints(of: state, by: hash)),
            "fingerprints differ when a state was read upon another")
    case (.failure(let one), .failure(let other)):
        check(one as? StateError == other as? StateError, "fails in another way upon a known state")
    default: fatalError("upon a known state it reads, or only without one")
    }
}

private func examine(_ bytes: [UInt8]) {
    guard let (old, new) = states(bytes) else { return }
    let change = Changeset(from: old, to: new)
    // One way to write a changeset at a time: the trees cost more than all the rest.
    let dialect = Dialect.allCases[bytes.count % Dialect.allCases.count]
    let content = ContentStyle.allCases[bytes.count / Dialect.allCases.count % 2]
    let staging = Staging.allCases[bytes.count / Dialect.allCases.count / 2 % 2]
    do {
        try checkTarget(change, old, new, dialect, staging, content)
        try checkCounts(change, old, new)
    } catch { fatalError("\(dialect): \(error)") }
    check(Changeset(from: new, to: new).isEmpty, "a change between a state and itself")
    checkDeltas(old, new, change)
}

/// Both the oracle of a dialect and the client lead the old state to the new one.
private func checkTarget(
    _ change: Changeset, _ old: Snapshot, _ new: Snapshot, _ dialect: Dialect, _ staging: Staging,
    _ content: ContentStyle
) throws {
    let json = change.json(dialect, staging: staging, content: content)
    // No tree can tell whether a patch is the smaller text: the oracle is given whole contents.
    let changes = tree(change.json(dialect, staging: staging), "\(dialect)")
    let (before, after) = (try readRows(old.rowsJSON()), try readRows(new.rowsJSON()))
    var list = RowList(old)
    if change.changesList {
        var told = JSONWriter()
        change.writeList(content: content, into: &told)
        list = try list.applying(list: told.bytes())
    }
    let (rows, shown): (Rows, RowList?)
    switch dialect {
    case .keyed: (rows, shown) = (try KeyedApplier.apply(changes, to: before).rows, try list.applying(keyed: json))
    case .indexed:
        (rows, shown) = (try IndexedApplier.apply(changes, to: before).rows, try list.applying(indexed: json))
    case .staged:
        (rows, shown) = (
            try StagedApplier.apply(changes, to: before).last?.rows ?? before, try list.applying(staged: json)
        )
    case .diffable:
        (rows, shown) = (try DiffableApplier.apply(changes, to: before).rows, try list.arrangement(json).list)
    case .sequential:
        let flat = try SequentialApplier.apply(changes, to: before).list
        return check(flat.map(\.key) == after.flat.map(\.key), "sequential misses the target")
    case .counts:
        let counts = Counts(
            deletions: change.counts.deletions, insertions: change.counts.insertions,
            moves: change.counts.moves, updates: change.counts.updates)
        return check(try summed(changes) == counts, "counts differ from the changeset's")
    case .jsonPatch:
        let document = try PatchApplier.apply(changes, to: tree(old.documentJSON(), "the document")).document
        return check(document == tree(new.documentJSON(), "the document"), "json-patch misses the target")
    }
    check(rows == after, "\(dialect) misses the target")
    check(shown == RowList(new), "a client misses the target by \(dialect)")
}

/// The numbers of `counts`, of sections and items together.
private func summed(_ changes: Tree) throws -> Counts {
    var sum = Counts()
    for group in try changes.members("sections", "items").values {
        let numbers = try group.members("deleted", "inserted", "moved", "updated").mapValues { try $0.integer() }
        sum =
            sum
            + Counts(
                deletions: numbers["deleted"] ?? 0, insertions: numbers["inserted"] ?? 0,
                moves: numbers["moved"] ?? 0, updates: numbers["updated"] ?? 0)
    }
    return sum
}

private func checkCounts(_ change: Changeset, _ old: Snapshot, _ new: Snapshot) throws {
    let indexed = try IndexedApplier.apply(tree(change.json(.indexed), "indexed"), to: readRows(old.rowsJSON()))
    let (counts, found) = (change.counts, indexed.operations.items.counts + indexed.operations.sections.counts)
    check(counts.deletions == found.deletions, "deletions")
    check(counts.insertions == found.insertions, "insertions")
    check(counts.moves == found.moves, "moves")
    check(counts.updates == found.updates, "updates")
    check(change.isEmpty == (counts.total == 0 && !change.changesList), "empty")
}

/// The delta back restores the state, byte by byte, with the same consequences; and equal digests mean equal states.
private func checkDeltas(_ old: Snapshot, _ new: Snapshot, _ change: Changeset) {
    let (known, fingerprints) = (Fingerprints(of: old, by: hash), Fingerprints(of: new, by: hash))
    guard let past = new.applying([SnapshotDelta(backOver: change)]),
        let next = SnapshotDelta(over: change).map({ old.applying([$0], isIndexed: true) }) ?? (new, change.shared)
    else { fatalError("a delta does not fit the state that it was made for") }
    check(past.snapshot.documentJSON() == old.documentJSON(), "the way back misses the state")
    check(next.snapshot.documentJSON() == new.documentJSON(), "the way on misses the state")
    let later = Changeset(from: past.snapshot, to: new, shared: past.shared.reversed)
    for dialect in Dialect.allCases {
        check(later.json(dialect) == change.json(dialect), "\(dialect) differs from a state that was made again")
    }
    let updated = Fingerprints(of: new, from: known, reusing: change.shared)
    check(
        updated.digest(salt: "") == fingerprints.digest(salt: ""),
        "fingerprints differ when some are known")
}

var count = CommandLine.argc
var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
_ = LLVMFuzzerRunDriver(&count, &arguments) { data, size in
    examine(Array(UnsafeBufferPointer(start: data, count: size)))
    return 0
}
