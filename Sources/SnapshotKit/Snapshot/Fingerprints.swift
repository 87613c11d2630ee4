/// Hashes of what a state's items and sections show, by one keyed function: 12 bytes an item.
public struct Fingerprints: Sendable {
    let items: [Fingerprint]
    /// Of the sections' contents.
    let sections: [UInt64]
    /// The function.
    let hash: KeyedHash

    /// Hashes every content and kind. O(bytes), or O(bytes that changed) where most is known.
    ///
    /// - Parameters:
    ///   - ignored: places inside items' contents that are left out.
    ///   - known: fingerprints of the state that a changeset leads from, by the same function and with the same places left out.
    public init(
        of snapshot: Snapshot, by hash: KeyedHash, ignoring ignored: [JSONPointer] = [],
        known: (fingerprints: Fingerprints, changeset: Changeset)? = nil
    ) {
        let ignored = IgnoredPlaces(ignored)
        self.hash = hash
        (items, sections) = snapshot.columns.withView { view in
            var items =
                known.map { $0.fingerprints.carried(over: $0.changeset, view) }
                ?? [Fingerprint](filled: .unknown, count: view.nodes.count)
            items.withUnsafeMutableBufferPointer { items in
                for item in items.indices where items[item] == .unknown { items[item] = Self.fingerprint(item, view, hash, ignored) }
            }
            let sections = view.sections.indices.map { section in
                SnapshotKit.fingerprint(of: view.content(ofSection: section), by: hash, ignoring: .none)
            }
            return (items, sections)
        }
    }

    /// Fingerprints that were computed before.
    init(items: [Fingerprint], sections: [UInt64], by hash: KeyedHash) {
        (self.items, self.sections, self.hash) = (items, sections, hash)
    }

    /// For each item of a new state the fingerprint of the row that it was, where it is one that did not change.
    private func carried(over changeset: Changeset, _ view: ColumnsView) -> [Fingerprint] {
        if changeset.old.outline === changeset.new.outline, view.allVisible {
            var carried = items
            for (row, fate) in changeset.rowFates.enumerated() where fate.contains(.updated) { carried[row] = .unknown }
            return carried
        }
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

    private static func fingerprint(
        _ item: Int, _ view: ColumnsView, _ hash: KeyedHash, _ ignored: IgnoredPlaces
    ) -> Fingerprint {
        var fingerprint = Fingerprint()
        fingerprint.content = SnapshotKit.fingerprint(of: view.content(ofItem: item), by: hash, ignoring: ignored)
        if view.nodes[item].flags.contains(.hasKind) {
            fingerprint.kind = UInt32(
                truncatingIfNeeded: SnapshotKit.fingerprint(of: view.kindText(ofItem: item), by: hash))
        }
        return fingerprint
    }

    /// Memory held, in bytes.
    public var footprint: Int { items.capacity * MemoryLayout<Fingerprint>.stride + sections.capacity * 8 }

    /// One hash over a whole state: ids, order, nesting, what is expanded, contents and kinds. Equal states of one `salt` have equal
    /// digests; others, and other salts, have not, but for one chance in 2^64. O(n).
    public func digest(of snapshot: Snapshot, salt: [UInt8]) -> UInt64 {
        snapshot.columns.withView { view in
            var state = salt.withUnsafeBytes { $0.isEmpty ? 0 : hash.hash($0.baseAddress!, $0.count) }
            for section in view.sections.indices {
                let node = view.sections[section]
                state = hash.mixed(state, hash.hash(view.bytes + Int(node.idStart), Int(node.idCount)))
                state = hash.mixed(state ^ sections[section], UInt64(node.flags.intersection(.shown).rawValue))
                for item in Int(node.firstItem)..<Int(node.endItem) {
                    let node = view.nodes[item]
                    let shown = UInt64(node.flags.intersection(.shown).rawValue) << 8 | UInt64(node.level)
                    state = hash.mixed(state ^ shown, hash.hash(view.bytes + Int(node.idStart), Int(node.idCount)))
                    state = hash.mixed(state ^ UInt64(items[item].kind) << 32, items[item].content)
                }
                state = hash.mixed(state, ~UInt64(node.endItem - node.firstItem))
            }
            return state
        }
    }
}
