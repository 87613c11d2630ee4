// What stands at each place of a state (id, level, what is shown, the place itself) is hashed by a keyed function, and
// the hashes are summed modulo 2^64 (AdHash of Bellare and Micciancio, 1997): a state with the same outline as the one
// before it costs a subtraction and an addition for each item that changed. Sums collide at will for whoever can
// compute the summands; without the key nobody can, and what a client sees is the sum hashed once more. `KeyedHash`
// says how far that goes: it chooses no revision for a client, and it authenticates nothing.
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
        let nothing = [Fingerprint](filled: .unknown, count: snapshot.columns.nodes.count)
        let (items, sections, sum) = snapshot.columns.withView { hash.completed(nothing, $0, IgnoredPlaces(ignored)) }
        self.init(items: items, sections: sections, hash: hash, sum: sum)
    }

    /// Hashes what changed. O(n + bytes that changed); of a state whose outline is another or that hides items,
    /// contents of sections and of hidden items are hashed again as well.
    ///
    /// - Parameters:
    ///   - ignored: places inside items' contents that are left out, the same as before.
    ///   - known: fingerprints of the state that `changeset` leads from.
    public convenience init(
        of snapshot: Snapshot, ignoring ignored: [JSONPointer] = [], from known: Fingerprints, over changeset: Changeset
    ) {
        let ignored = IgnoredPlaces(ignored)
        let (items, sections, sum) = snapshot.columns.withView { view in
            changeset.hasSameOutline && view.allVisible
                ? known.updated(by: changeset, view, ignored)
                : known.hash.completed(known.carried(over: changeset, view), view, ignored)
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

    /// Those of a new state with the same outline, in which all items are rows.
    private func updated(
        by changeset: Changeset, _ view: ColumnsView, _ ignored: IgnoredPlaces
    ) -> (items: [Fingerprint], sections: [UInt64], sum: UInt64) {
        changeset.old.withView { old in
            var (items, sections, sum) = (items, sections, sum)
            changeset.rowFates.withUnsafeBufferPointer { fates in
                for item in fates.indices where fates[item].contains(.updated) {
                    sum &-= hash.summand(ofItem: item, old, items[item])
                    items[item] = hash.fingerprint(ofItem: item, view, ignored)
                    sum &+= hash.summand(ofItem: item, view, items[item])
                }
            }
            for (section, fate) in changeset.sectionFates.enumerated() where fate.contains(.updated) {
                sum &-= hash.summand(ofSection: section, old, sections[section])
                sections[section] = hash.fingerprint(ofSection: section, view)
                sum &+= hash.summand(ofSection: section, view, sections[section])
            }
            return (items, sections, sum)
        }
    }

    /// For each item of a new state the fingerprint of the row that it was, where it is one that did not change.
    private func carried(over changeset: Changeset, _ view: ColumnsView) -> [Fingerprint] {
        var carried = [Fingerprint](filled: .unknown, count: view.nodes.count)
        carried.withUnsafeMutableBufferPointer { carried in
            items.withUnsafeBufferPointer { items in
                changeset.items.oldOfNew.withUnsafeBufferPointer { oldOfNew in
                    changeset.oldRowOfNew.withUnsafeBufferPointer { oldRowOfNew in
                        changeset.rowFates.withUnsafeBufferPointer { fates in
                            for item in carried.indices {
                                let row = view.row(ofItem: item)
                                guard row >= 0, oldRowOfNew[row] >= 0, !fates[row].contains(.updated) else { continue }
                                carried[item] = items[Int(oldOfNew[item])]
                            }
                        }
                    }
                }
            }
        }
        return carried
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

    /// Computes what is not known yet, and the rest from it.
    fileprivate func completed(
        _ known: consuming [Fingerprint], _ view: ColumnsView, _ ignored: IgnoredPlaces
    ) -> (items: [Fingerprint], sections: [UInt64], sum: UInt64) {
        var items = known
        items.withUnsafeMutableBufferPointer { items in
            for item in items.indices where items[item] == .unknown {
                items[item] = fingerprint(ofItem: item, view, ignored)
            }
        }
        let sections = view.sections.indices.map { fingerprint(ofSection: $0, view) }
        return (items, sections, sum(items, sections, view))
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
