// What leads from one state to another, as instructions: take over so many items, take this one except for its content,
// add this new one (COPY and ADD of RFC 3284, over items instead of bytes). Its size is that of the change, not of the
// list. It restores the very bytes: the document is the same, not only equal.
//
// Layout: a byte of flags, the list's own content if they say so, the numbers of sections and of items, instructions
// for all sections, then for all items. Numbers are LEB128; places in the source are distances from the end of the last
// reference.

/// Instructions that turn one state into another.
public struct SnapshotDelta: Sendable, Equatable {
    /// The instructions, to be stored and sent. A reader elsewhere must know that they are complete.
    public let bytes: [UInt8]

    /// Instructions that were stored before.
    public init(bytes: [UInt8]) { self.bytes = bytes }

    /// From a state to itself.
    public static let unchanged = SnapshotDelta(bytes: [])

    /// From the state after a change back to the one before it, or the whole of that if it is smaller. O(sections +
    /// changes).
    public init(backOver change: Changeset) {
        let back = SnapshotDelta(change, isBack: true)
        guard back.bytes.count > change.old.text.count else {
            self = back
            return
        }
        let whole = SnapshotDelta(whole: Snapshot(change.old))
        self = whole.bytes.count < back.bytes.count ? whole : back
    }

    /// From the state before a change to the one after it; nil if that is more than half of the state.
    public init?(over change: Changeset) {
        self.init(change, isBack: false)
        if bytes.count > change.new.text.count / 2 { return nil }
    }

    private init(_ change: Changeset, isBack: Bool) {
        let (source, target) = isBack ? (change.new, change.old) : (change.old, change.new)
        bytes = source.withView { source in
            target.withView { target in
                var writer = DeltaWriter(
                    source, target,
                    sections: isBack ? change.sections.newOfOld : change.sections.oldOfNew,
                    items: isBack ? change.items.newOfOld : change.items.oldOfNew)
                return isBack
                    ? writer.write(reusing: change.unchanged.reversedDirection)
                    : writer.write(reusing: change.unchanged)
            }
        }
    }

    /// A whole state, built from nothing.
    public init(whole snapshot: Snapshot) {
        bytes = Snapshot.empty.columns.withView { source in
            snapshot.columns.withView { target in
                var writer = DeltaWriter(
                    source, target, sections: [Int32](repeating: -1, count: target.sections.count),
                    items: [Int32](repeating: -1, count: target.nodes.count))
                return writer.write(reusing: [])
            }
        }
    }

    /// Whether it refers to nothing: then it gives the same result for any state.
    public var isWhole: Bool { bytes.first.flatMap { DeltaFlags(Int($0)) }?.contains(.isWhole) ?? false }
}

/// What the first byte of a delta says.
struct DeltaFlags: OptionSet {
    let rawValue: Int
    /// Nothing is taken from the source.
    static let isWhole = DeltaFlags(rawValue: 1)
    /// The list's own content follows; otherwise it is that of the source.
    static let hasList = DeltaFlags(rawValue: 2)
    /// The list has no content of its own any more.
    static let hasNoList = DeltaFlags(rawValue: 4)

    init(rawValue: Int) { self.rawValue = rawValue }

    /// Nil if a bit is unknown.
    init?(_ number: Int) {
        guard (0..<8).contains(number) else { return nil }
        rawValue = number
    }
}

extension Snapshot {
    /// The state after several deltas, applied in order, and what is known to be the same in that and in this one; nil
    /// if they do not fit. O(changes), plus one O(n) copy of memory.
    ///
    /// - Parameter isIndexed: whether ids are to be found in O(1) rather than O(n).
    public func applying(
        _ deltas: some Sequence<SnapshotDelta>, isIndexed: Bool = false
    ) -> (snapshot: Snapshot, reused: ReusedRuns)? {
        columns.withView { view in
            var state = DeltaState(view)
            for delta in deltas {
                guard state.apply(delta) else { return nil }
            }
            guard let (text, assembly) = state.finished() else { return nil }
            let (made, runs) = assembly.finish(from: view, text: text, isIndexed: isIndexed)
            // One that later states will be made of, as by edits.
            let result = isIndexed && text.isMostlyDead ? made.compacted() : made
            return (Snapshot(result), ReusedRuns(runs, from: columns, to: result))
        }
    }
}

/// What an instruction does: the lowest two bits of its first number.
enum DeltaInstruction: Int {
    /// So many items or sections of the source, of which nothing changed.
    case copy
    /// So many items of the source, written the same, but perhaps with other parents or children. Never sections.
    case same
    /// One of the source, except for what the bits say.
    case change
    /// A new one.
    case add
}

/// What differs between an item or section and that of the source.
struct DeltaChanges: OptionSet {
    let rawValue: Int
    static let flags = DeltaChanges(rawValue: 1)
    static let content = DeltaChanges(rawValue: 2)
    static let kind = DeltaChanges(rawValue: 4)
    static let id = DeltaChanges(rawValue: 8)
}
