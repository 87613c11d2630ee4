// What stands at each place of a state (id, level, what is shown, the place itself) is hashed by a keyed function, and
// the hashes are summed modulo 2^64 (AdHash of Bellare and Micciancio, 1997): a state like the one before it costs a
// subtraction and an addition for each item that changed or moved. Sums collide at will for whoever can compute the
// summands; without the key nobody can, and what a client sees is the sum hashed once more. `KeyedHash` says how far
// that goes: it chooses no revision for a client, and it authenticates nothing.
//
// Rejected: a chain in which each hash goes into the next, which reads all ids again for each revision, and waits for
// every multiplication.

/// Hashes of what a state's items and sections show, by one keyed function: 12 bytes an item.
public final class Fingerprints: Sendable {
    let items: [Fingerprint]
    /// Of the sections' contents.
    let sections: [UInt64]
    /// The function.
    package let hash: KeyedHash
    /// Of the hashes of what stands at each place.
    private let sum: UInt64

    /// Hashes every content and kind. O(bytes).
    ///
    /// - Parameter ignored: places inside items' contents that are left out.
    public convenience init(of snapshot: Snapshot, by hash: KeyedHash, ignoring ignored: [JSONPointer] = []) {
        let ignored = IgnoredPlaces(ignored)
        let (items, sections) = snapshot.columns.withView { view in
            (
                view.nodes.indices.map { hash.fingerprint(ofItem: $0, view, ignored) },
                view.sections.indices.map { hash.fingerprint(ofSection: $0, view) }
            )
        }
        self.init(items: items, sections: sections, of: snapshot.columns, by: hash)
    }

    /// Hashes what is not known. O(n + bytes of that).
    ///
    /// - Parameters:
    ///   - ignored: places inside items' contents that are left out, the same as before.
    ///   - known: fingerprints of an earlier state.
    ///   - reused: items that show the same in both states.
    public convenience init(
        of snapshot: Snapshot, ignoring ignored: [JSONPointer] = [], from known: Fingerprints,
        reusing reused: ReusedRuns
    ) {
        let runs = reused.runs(from: reused.old, to: snapshot.columns)
        let (items, sections, sum) = reused.old.withView { old in
            snapshot.columns.withView { known.carried(over: runs, from: old, to: $0, IgnoredPlaces(ignored)) }
        }
        self.init(items: items, sections: sections, hash: known.hash, sum: sum)
    }

    /// Fingerprints that were computed before. O(n).
    convenience init(items: [Fingerprint], sections: [UInt64], of columns: Columns, by hash: KeyedHash) {
        let sum = columns.withView { hash.sum(items, sections, $0) }
        self.init(items: items, sections: sections, hash: hash, sum: sum)
    }

    private init(items: [Fingerprint], sections: [UInt64], hash: KeyedHash, sum: UInt64) {
        (self.items, self.sections, self.hash, self.sum) = (items, sections, hash, sum)
    }

    /// The fingerprints of a new state, whose sum is that of the old one but for what stands elsewhere or is new.
    private func carried(
        over runs: [ReusedRun], from old: ColumnsView, to new: ColumnsView, _ ignored: IgnoredPlaces
    ) -> (items: [Fingerprint], sections: [UInt64], sum: UInt64) {
        var items: [Fingerprint] = []
        items.reserveCapacity(new.nodes.count)
        for run in runs {
            for item in items.count..<run.new { items.append(hash.fingerprint(ofItem: item, new, ignored)) }
            items.append(contentsOf: self.items[run.old..<run.old + run.count])
        }
        for item in items.count..<new.nodes.count { items.append(hash.fingerprint(ofItem: item, new, ignored)) }
        let isAsMany = old.sections.count == new.sections.count
        var sections = isAsMany ? self.sections : [UInt64](filled: 0, count: new.sections.count)
        for section in sections.indices {
            let content = new.content(ofSection: section)
            if section < old.sections.count, old.content(ofSection: section).hasSameBytes(as: content) {
                if !isAsMany { sections[section] = self.sections[section] }
            } else {
                sections[section] = hash.fingerprint(ofSection: section, new)
            }
        }
        let inPlace = runs.lazy.filter { $0.isInPlace }
        // Each place that is not the same costs a summand on either side.
        guard inPlace.reduce(0, { $0 + $1.count }) * 2 > old.nodes.count else {
            return (items, sections, hash.sum(items, sections, new))
        }
        var sum = sum
        inPlace.forOthers(of: old.nodes.count) { sum &-= hash.summand(ofItem: $0, old, self.items[$0]) }
        inPlace.forOthers(of: new.nodes.count) { sum &+= hash.summand(ofItem: $0, new, items[$0]) }
        for section in 0..<max(old.sections.count, new.sections.count) {
            let before = section < old.sections.count ? old.sections[section] : nil
            let now = section < new.sections.count ? new.sections[section] : nil
            if let before, let now, before.hasSamePlace(as: now, old.bytes, new.bytes),
                self.sections[section] == sections[section]
            {
                continue
            }
            if before != nil { sum &-= hash.summand(ofSection: section, old, self.sections[section]) }
            if now != nil { sum &+= hash.summand(ofSection: section, new, sections[section]) }
        }
        return (items, sections, sum)
    }

    /// Memory held, in bytes.
    public var footprint: Int { items.capacity * MemoryLayout<Fingerprint>.stride + sections.capacity * 8 }

    /// Whether other fingerprints, by the same function, are of an equal state; wrong in one case of 2^64. O(1).
    public func areOfSameState(as other: Fingerprints) -> Bool { sum == other.sum }

    /// One hash over the whole state: ids, order, nesting, what is expanded, contents and kinds. Equal states of one
    /// `salt` have equal digests; others, and other salts, have not, but for one chance in 2^64, or in 2^32 where
    /// nothing but a kind differs. O(1).
    public func digest(salt: String) -> UInt64 {
        var salt = salt
        return hash.mixed(salt.withUTF8 { hash.digest(of: UnsafeRawBufferPointer($0)) }, sum)
    }
}

extension SectionNode {
    /// Whether a section of the same index is the same but for its content.
    fileprivate func hasSamePlace(
        as other: SectionNode, _ ours: UnsafeRawPointer, _ theirs: UnsafeRawPointer
    ) -> Bool {
        firstItem == other.firstItem && endItem == other.endItem && flags == other.flags
            && hasSameID(as: other, ours, theirs)
    }
}

extension KeyedHash {
    fileprivate func fingerprint(ofItem item: Int, _ view: ColumnsView, _ ignored: IgnoredPlaces) -> Fingerprint {
        var print = Fingerprint()
        print.content = SnapshotKit.fingerprint(of: view.content(ofItem: item), by: self, ignoring: ignored)
        if view.nodes[item].flags.contains(.hasKind) {
            print.kind = UInt32(truncatingIfNeeded: SnapshotKit.fingerprint(of: view.kindText(ofItem: item), by: self))
        }
        return print
    }

    fileprivate func fingerprint(ofSection section: Int, _ view: ColumnsView) -> UInt64 {
        SnapshotKit.fingerprint(of: view.content(ofSection: section), by: self, ignoring: .none)
    }

    fileprivate func sum(_ items: [Fingerprint], _ sections: [UInt64], _ view: ColumnsView) -> UInt64 {
        var sum: UInt64 = 0
        for section in sections.indices { sum &+= summand(ofSection: section, view, sections[section]) }
        items.withUnsafeBufferPointer { items in
            for item in items.indices { sum &+= summand(ofItem: item, view, items[item]) }
        }
        return sum
    }

    /// What an item contributes to a state's sum.
    @inline(__always)
    fileprivate func summand(ofItem item: Int, _ view: ColumnsView, _ print: Fingerprint) -> UInt64 {
        let node = view.nodes[item]
        return summand(
            view.id(ofItem: item), node.flags, at: UInt64(item) << 32 | UInt64(node.level) << 16,
            content: print.content, kind: print.kind)
    }

    @inline(__always)
    fileprivate func summand(ofSection section: Int, _ view: ColumnsView, _ content: UInt64) -> UInt64 {
        let node = view.sections[section]
        let place = mixed(UInt64(section), UInt64(node.firstItem) << 32 | UInt64(node.endItem))
        return summand(view.id(ofSection: section), node.flags, at: place, content: content)
    }

    @inline(__always)
    private func summand(_ id: IDText, _ flags: NodeFlags, at place: UInt64, content: UInt64, kind: UInt32 = 0)
        -> UInt64
    {
        let flags = UInt64(flags.intersection(.shown).rawValue)
        return mixed(mixed(hash(id.start, id.count), place ^ flags) ^ UInt64(kind) << 32, content)
    }
}
