// A list is a chain: a keyed function hashes each item together with the id of the item before it and with everything
// it shows, and each section with the section before it and its first item. The hashes are summed modulo 2^64 (AdHash
// of Bellare and Micciancio, 1997). Since ids are unique, the links determine the whole order; and a state that
// resembles the previous one costs a subtraction and an addition for each item that was changed, inserted, removed or
// moved, and for its successor, however long the list is. Whoever can compute the summands can make sums collide;
// without the key nobody can, and clients only see the sum hashed once more (`KeyedHash` says how much that is worth).
//
// Rejected: a chain in which each hash enters the next, which reads all ids again for each revision; hashing indexes,
// which change for all items behind an inserted one.

/// Hashes of what a state's items and sections show, by one keyed function. 12 bytes per item.
public final class Fingerprints: Sendable {
    let items: [Fingerprint]
    /// The hashes of the sections' contents.
    package let sections: [UInt64]
    /// The hash of the list's own content; zero if it has none.
    package let list: UInt64
    package let hash: KeyedHash
    /// The sum of the hashes of all items and sections.
    private let sum: UInt64
    /// Texts that have just grown, by item, and their hashes, which go on when they grow again.
    private let growing: Growing

    private typealias Growing = [Int: (text: GrownText, hash: KeyedHash.Growing)]

    /// Hashes every content and kind. O(bytes).
    ///
    /// - Parameter ignored: places inside items' contents to ignore.
    public convenience init(of snapshot: Snapshot, by hash: KeyedHash, ignoring ignored: [JSONPointer] = []) {
        let ignored = PointerSet(ignored)
        let (items, sections, list) = snapshot.columns.withView { view in
            (
                view.nodes.indices.map { hash.fingerprint(ofItem: $0, view, ignored) },
                view.sections.indices.map { fingerprint(of: view.content(ofSection: $0), by: hash, ignoring: .none) },
                fingerprint(of: view.listContent, by: hash, ignoring: .none)
            )
        }
        self.init(items: items, sections: sections, list: list, of: snapshot.columns, by: hash)
    }

    /// Hashes what is not yet known. O(n + its bytes).
    ///
    /// - Parameters:
    ///   - ignored: places inside items' contents to ignore, the same as before.
    ///   - known: fingerprints of an earlier state.
    ///   - shared: items that show the same in both states.
    public convenience init(
        of snapshot: Snapshot, ignoring ignored: [JSONPointer] = [], from known: Fingerprints,
        reusing shared: SharedRuns
    ) {
        guard shared.new === snapshot.columns else {
            self.init(of: snapshot, by: known.hash, ignoring: ignored)
            return
        }
        let (items, sections, list, sum, growing) = shared.old.withViews(of: snapshot.columns) {
            known.carried(over: shared, from: $0, to: $1, PointerSet(ignored))
        }
        self.init(items: items, sections: sections, list: list, hash: known.hash, sum: sum, growing: growing)
    }

    /// Fingerprints that were computed before. O(n).
    convenience init(items: [Fingerprint], sections: [UInt64], list: UInt64, of columns: Columns, by hash: KeyedHash) {
        let sum = columns.withView { hash.sum(items, sections, $0) }
        self.init(items: items, sections: sections, list: list, hash: hash, sum: sum)
    }

    private init(
        items: [Fingerprint], sections: [UInt64], list: UInt64, hash: KeyedHash, sum: UInt64, growing: Growing = [:]
    ) {
        (self.items, self.sections, self.list, self.hash, self.sum) = (items, sections, list, hash, sum)
        self.growing = growing
    }

    /// The fingerprints of a new state, with the old sum adjusted for the links that differ.
    private func carried(
        over shared: SharedRuns, from old: ColumnsView, to new: ColumnsView, _ ignored: PointerSet
    ) -> (items: [Fingerprint], sections: [UInt64], list: UInt64, sum: UInt64, growing: Growing) {
        let runs = shared.runs
        var growing: Growing = [:]
        for (item, text) in shared.grown {
            let last = self.growing[item]
            let goesOn = last?.text.start == text.start && last?.text.count == text.oldCount
            var hash = goesOn ? last!.hash : KeyedHash.Growing(ofStringBy: self.hash)
            hash.append(text.string(in: new.content(ofItem: item), from: goesOn ? text.oldCount : 0).text.bytes())
            growing[item] = (text, hash)
        }
        let print = { [growing] (item: Int) in
            let known = growing[item].map { ($0.text.string(in: new.content(ofItem: item)), $0.hash.value) }
            return self.hash.fingerprint(ofItem: item, new, ignored, knowing: known)
        }
        let isSameList = old.listContent.hasSameBytes(as: new.listContent)
        let list = isSameList ? list : fingerprint(of: new.listContent, by: hash, ignoring: .none)
        var items: [Fingerprint] = []
        items.reserveCapacity(new.nodes.count)
        for run in runs {
            for item in items.count..<run.new { items.append(print(item)) }
            items.append(contentsOf: self.items[run.old..<run.old + run.count])
        }
        for item in items.count..<new.nodes.count { items.append(print(item)) }
        let isAsMany = old.sections.count == new.sections.count
        var sections = isAsMany ? self.sections : [UInt64](filled: 0, count: new.sections.count)
        for section in sections.indices {
            let content = new.content(ofSection: section)
            if section < old.sections.count, old.content(ofSection: section).hasSameBytes(as: content) {
                if !isAsMany { sections[section] = self.sections[section] }
            } else {
                sections[section] = fingerprint(of: content, by: hash, ignoring: .none)
            }
        }
        // Each link that differs costs a summand on either side.
        let others = new.nodes.count - runs.reduce(0) { $0 + $1.count - 1 }
        guard others * 2 < new.nodes.count else {
            return (items, sections, list, hash.sum(items, sections, new), growing)
        }
        var sum = sum
        let hasSameStructure = shared.hasSameStructure
        // Otherwise the first item of a run may have another predecessor.
        let first = hasSameStructure ? 0 : 1
        let linked = { (run: SharedRuns.Run) in
            SharedRuns.Run(old: run.old + first, new: run.new + first, count: run.count - first)
        }
        runs.lazy.map(linked).forOthers(of: new.nodes.count) { sum &+= hash.summand(ofItem: $0, new, items[$0]) }
        shared.reversedRuns.lazy.map(linked).forOthers(of: old.nodes.count) {
            sum &-= hash.summand(ofItem: $0, old, self.items[$0])
        }
        for section in 0..<max(old.sections.count, new.sections.count) {
            if section < old.sections.count, section < new.sections.count, self.sections[section] == sections[section],
                hasSameStructure || old.hasSameStructure(section: section, as: new)
            {
                continue
            }
            if section < old.sections.count { sum &-= hash.summand(ofSection: section, old, self.sections[section]) }
            if section < new.sections.count { sum &+= hash.summand(ofSection: section, new, sections[section]) }
        }
        return (items, sections, list, sum, growing)
    }

    /// Memory held, in bytes.
    public var footprint: Int {
        // A text that grows has some of its bytes with it.
        items.capacity * MemoryLayout<Fingerprint>.stride + sections.capacity * 8 + growing.capacity * 256
    }

    /// Whether other fingerprints, by the same function, are of an equal state; wrong with a chance of 1 in 2^64. O(1).
    public func areOfSameState(as other: Fingerprints) -> Bool { sum == other.sum && list == other.list }

    /// One hash over the whole state: ids, order, nesting, expansion, contents and kinds. Equal states with one `salt`
    /// have equal digests; different states or salts have different ones, except for a chance of 1 in 2^64, or in 2^32
    /// if only a kind differs. O(1).
    public func digest(salt: String) -> UInt64 {
        var salt = salt
        let whole = list == 0 ? sum : hash.mixed(list, sum)
        return hash.mixed(salt.withUTF8 { hash.digest(of: UnsafeRawBufferPointer($0)) }, whole)
    }
}

extension ColumnsView {
    /// The item at the start of a section, which may be in a later one; nil after the last item.
    fileprivate func start(ofSection section: Int) -> Int? {
        let item = Int(sections[section].firstItem)
        return item < nodes.count ? item : nil
    }

    /// Whether the section at the same index is the same apart from its content, starts with the same item and follows
    /// the same section.
    fileprivate func hasSameStructure(section: Int, as other: ColumnsView) -> Bool {
        let (one, two) = (sections[section], other.sections[section])
        guard one.flags == two.flags, one.hasSameID(as: two, text, other.text) else { return false }
        switch (start(ofSection: section), other.start(ofSection: section)) {
        case (nil, nil): break
        case (let first?, let second?):
            guard nodes[first].hasSameID(as: other.nodes[second], text, other.text) else { return false }
        default: return false
        }
        return section == 0 || sections[section - 1].hasSameID(as: other.sections[section - 1], text, other.text)
    }
}

extension KeyedHash {
    fileprivate func fingerprint(
        ofItem item: Int, _ view: ColumnsView, _ ignored: PointerSet,
        knowing known: (string: JSONString, print: UInt64)? = nil
    ) -> Fingerprint {
        var print = Fingerprint()
        print.content = SnapshotKit.fingerprint(
            of: view.content(ofItem: item), by: self, ignoring: ignored, knowing: known)
        if view.nodes[item].flags.contains(.hasKind) {
            print.kind = UInt32(truncatingIfNeeded: SnapshotKit.fingerprint(of: view.kindText(ofItem: item), by: self))
        }
        return print
    }

    fileprivate func sum(_ items: [Fingerprint], _ sections: [UInt64], _ view: ColumnsView) -> UInt64 {
        var sum: UInt64 = 0
        for section in sections.indices { sum &+= summand(ofSection: section, view, sections[section]) }
        items.withUnsafeBufferPointer { items in
            var previous = Self.noID
            for item in items.indices {
                let id = hash(view.id(ofItem: item))
                sum &+= summand(ofItem: item, id, behind: previous, view, items[item])
                previous = id
            }
        }
        return sum
    }

    /// What an item contributes to a state's sum.
    fileprivate func summand(ofItem item: Int, _ view: ColumnsView, _ print: Fingerprint) -> UInt64 {
        let previous = item == 0 ? Self.noID : hash(view.id(ofItem: item - 1))
        return summand(ofItem: item, hash(view.id(ofItem: item)), behind: previous, view, print)
    }

    @inline(__always)
    private func summand(
        ofItem item: Int, _ id: UInt64, behind previous: UInt64, _ view: ColumnsView, _ print: Fingerprint
    ) -> UInt64 {
        let node = view.nodes[item]
        let shown = UInt64(node.flags.intersection(.shown).rawValue) | UInt64(node.level) << 8
        return mixed(mixed(id, previous) ^ shown ^ UInt64(print.kind) << 32, print.content)
    }

    fileprivate func summand(ofSection section: Int, _ view: ColumnsView, _ content: UInt64) -> UInt64 {
        let shown = UInt64(view.sections[section].flags.intersection(.shown).rawValue) | Self.isSection
        let previous = section == 0 ? Self.noID : hash(view.id(ofSection: section - 1))
        let start = view.start(ofSection: section).map { hash(view.id(ofItem: $0)) } ?? Self.noID
        return mixed(mixed(mixed(hash(view.id(ofSection: section)), previous) ^ shown, start), content)
    }

    @inline(__always)
    private func hash(_ id: IDText) -> UInt64 { hash(id.start, id.count) }

    /// Stands for a missing id.
    private static let noID: UInt64 = 0
    /// Distinguishes a section from an item with the same id.
    private static let isSection: UInt64 = 1 << 24
}
