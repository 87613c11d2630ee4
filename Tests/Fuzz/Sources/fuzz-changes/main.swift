// Two states, and what changed between them: in every dialect valid JSON; applied by a client of the simplest sort, the
// target.

import CFuzzer
import FuzzSupport
import SnapshotKit

private let hash = KeyedHash(seed: 1, 2)

/// Two documents with a byte between them that no JSON holds, or two states made of the bytes: of some and of the
/// others, or of all of them, once with a few changed, so that the states have most in common.
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
            "a state that was made does not read: \(String(decoding: one, as: UTF8.self)) \(String(decoding: other, as: UTF8.self))"
        )
    }
    checkReading(other, upon: old)
    return (old, new)
}

/// A document that is read upon a state comes to the same as without it, and so do the changes between them.
private func checkReading(_ json: [UInt8], upon known: Snapshot) {
    let members = Envelope.Members(states: ["state"], allowsBareState: true)
    let read = { (known: Snapshot?) in Result { try Envelope(json: json, members: members, known: known) } }
    switch (read(known), read(nil)) {
    case (.success(let one), .success(let other)):
        check(
            one.states["state"]?.documentJSON() == other.states["state"]?.documentJSON(),
            "reads as another state upon a known one")
        guard let state = one.states["state"] else { return }
        let change = Changeset(from: known, to: state, likeness: one.likeness)
        check(
            change.json(.keyed) == Changeset(from: known, to: state).json(.keyed), "changes differ when some are known")
        let carried = Fingerprints(of: state, from: Fingerprints(of: known, by: hash), over: change)
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
    checkJSON(change, choice: bytes.count)
    guard let before = RowModel(rows: old.rowsJSON()), let after = RowModel(rows: new.rowsJSON()) else {
        fatalError("rows do not read")
    }
    let indexed = Tree(change.json(.indexed), maxDepth: 1_000)!
    check(
        before.applying(keyed: Tree(change.json(.keyed), maxDepth: 1_000)!)?.isShown(as: after) == true,
        "keyed misses the target")
    check(before.applying(indexed: indexed)?.isShown(as: after) == true, "indexed misses the target")
    checkCounts(change, indexed)
    check(Changeset(from: new, to: new).isEmpty, "a change between a state and itself")
    checkSkeleton(old, new, change)
}

/// One way to write a changeset at a time: the trees cost more than all the rest.
private func checkJSON(_ change: Changeset, choice: Int) {
    let dialect = Dialect.allCases[choice % Dialect.allCases.count]
    let content = ContentStyle.allCases[choice / 6 % 2]
    let json = change.json(dialect, staging: Staging.allCases[choice / 12 % 2], content: content)
    check(Tree(json, maxDepth: 1_000) != nil, "\(dialect) is no JSON")
}

private func checkCounts(_ change: Changeset, _ indexed: Tree) {
    func count(_ list: String) -> Int {
        ["sections", "items"].reduce(0) { $0 + (indexed[$1]?[list]?.elements.count ?? 0) }
    }
    let counts = change.counts
    check(count("deleted") == counts.deletions, "deletions")
    check(count("inserted") == counts.insertions, "insertions")
    check(count("moved") == counts.moves, "moves")
    check(count("updated") == counts.updates, "updates")
    check(change.isEmpty == (counts.total == 0), "empty")
}

/// From what is remembered of a state the same follows, and equal digests are equal states.
private func checkSkeleton(_ old: Snapshot, _ new: Snapshot, _ change: Changeset) {
    let (known, fingerprints) = (Fingerprints(of: old, by: hash), Fingerprints(of: new, by: hash))
    let skeleton = Skeleton(of: old, fingerprints: known)
    let later = Changeset(from: skeleton, to: new, fingerprints: fingerprints)
    for dialect in Dialect.allCases where dialect != .jsonPatch {
        check(later.json(dialect) == change.json(dialect), "\(dialect) differs from a skeleton")
    }
    let updated = Fingerprints(of: new, from: known, over: change)
    check(
        updated.digest(salt: "") == fingerprints.digest(salt: ""),
        "fingerprints differ when some are known")
}

extension RowModel {
    /// Whether both show the same: ids by their text, since a common row keeps the id as it was written before.
    fileprivate func isShown(as other: RowModel) -> Bool {
        sections.count == other.sections.count
            && zip(sections, other.sections).allSatisfy { one, other in
                one.id == other.id && one.shown.withPlainID == other.shown.withPlainID
                    && one.rows.map(\.withPlainID) == other.rows.map(\.withPlainID)
            }
    }
}

extension Tree {
    /// With the texts of `id` and `parent` in place of how they were written.
    fileprivate var withPlainID: Tree {
        guard case .object(let members) = self else { return self }
        return .object(
            members.map { member in
                var member = member
                if ["id", "parent"].contains(String(decoding: member.name, as: UTF8.self)),
                    let text = member.value.idText
                {
                    member.value = .string(text)
                }
                return member
            })
    }
}

var count = CommandLine.argc
var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
_ = LLVMFuzzerRunDriver(&count, &arguments) { data, size in
    examine(Array(UnsafeBufferPointer(start: data, count: size)))
    return 0
}
