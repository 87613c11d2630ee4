// RFC 6902 on the document, with items as units: an id is added, removed or moved, never written over another.
//
// The arrays are that of the sections and each `items` array. The target is walked from the top down, each array
// from its start: what stays is passed, what is new is added (with those of its descendants that are new too), what was
// elsewhere is moved here. So when an element is placed, everything above it is in its final place, and no element is
// ever moved into itself. Elements that are gone stay where they are until everything that survives has left them; then
// the topmost of them are removed.
//
// Array indexes shift with every step. Each array that changes has a `SpliceTracker`, which tells where its elements
// are right now; the path to an element asks one array a level.

extension ChangesetView {
    func writeJSONPatch(into writer: inout JSONWriter) {
        var patch = JSONPatch(self, writer)
        patch.placeAll()
        patch.removeAll()
        patch.updateAll()
        writer = patch.finish()
    }
}

/// A patch in the making.
struct JSONPatch {
    let changeset: ChangesetView
    var writer: JSONWriter
    var list = JSONList()
    /// The path that updates are written at.
    var place = JSONWriter()
    /// The members of the two contents that are being compared.
    var before = JSONMembers()
    var after = JSONMembers()
    let oldTree: DocumentArrays
    let newTree: DocumentArrays
    /// Of items, and of sections: in both states, in the same array, and not to be moved.
    var itemStays: [Bool]
    private var sectionStays: [Bool]
    /// Arrays of the new document that differ from the old ones.
    var trackers: [DocumentArray: SpliceTracker] = [:]
    /// Arrays of items that are gone, while anything is in them.
    var lostTrackers: [DocumentArray: SpliceTracker] = [:]

    init(_ changeset: ChangesetView, _ writer: JSONWriter) {
        self.changeset = changeset
        self.writer = writer
        self.writer.append(byte: UInt8(ascii: "["))
        oldTree = DocumentArrays(changeset.old)
        newTree = DocumentArrays(changeset.new)
        itemStays = [Bool](repeating: false, count: changeset.new.nodes.count)
        sectionStays = changeset.new.sections.indices.map { changeset.stays(section: $0) }
        planSections()
        for section in changeset.new.sections.indices { plan(.section(section)) }
        for item in changeset.new.nodes.indices where newTree.hasChildren(item) || oldHasChildren(item) {
            plan(.item(item))
        }
    }

    consuming func finish() -> JSONWriter {
        writer.append(byte: UInt8(ascii: "]"))
        return writer
    }

    private func oldHasChildren(_ item: Int) -> Bool {
        let oldItem = partner(item)
        return oldItem >= 0 && oldTree.hasChildren(oldItem)
    }

    /// The old item of a new one, or -1.
    func partner(_ item: Int) -> Int { Int(changeset.change.items.oldOfNew[item]) }

    /// The new item of an old one, or -1.
    private func successor(_ oldItem: Int) -> Int { Int(changeset.change.items.newOfOld[oldItem]) }

    // MARK: Planning

    private mutating func planSections() {
        let stays = sectionStays.indices.filter { sectionStays[$0] }.map {
            SpliceTracker.Stay(final: $0, old: changeset.oldSection(of: $0))
        }
        let staying = Set(stays.map(\.old))
        guard stays.count < changeset.old.sections.count || stays.count < changeset.new.sections.count else { return }
        trackers[.sections] = SpliceTracker(
            stays: stays, leavers: changeset.old.sections.indices.filter { !staying.contains($0) },
            oldCount: changeset.old.sections.count)
    }

    /// The array of the old document that a new one was; nil if there was none.
    private func old(_ array: DocumentArray) -> DocumentArray? {
        switch array {
        case .sections: return .sections
        case .section(let section):
            return changeset.isNew(section: section) ? nil : .section(changeset.oldSection(of: section))
        case .item(let item): return partner(item) < 0 ? nil : .item(partner(item))
        }
    }

    /// Decides what stays in an array of items, and tracks it if anything does not.
    private mutating func plan(_ array: DocumentArray) {
        let before = old(array)
        if let before, keepsAll(array, before) { return }
        let oldChildren = before.map(oldTree.children) ?? []
        let children = newTree.children(of: array)
        let stays = before == nil ? arrivals(children) : kept(children, before!)
        guard stays.count < children.count || stays.count < oldChildren.count || before == nil else { return }
        let staying = Set(stays.map(\.old))
        let leavers = before == nil ? [] : oldChildren.indices.filter { !staying.contains($0) }
        trackers[array] = SpliceTracker(stays: stays, leavers: leavers, oldCount: oldChildren.count)
    }

    /// Whether an array holds what it held before, in the same order; then all of it stays. Most arrays do, so
    /// this makes no lists.
    private mutating func keepsAll(_ array: DocumentArray, _ before: DocumentArray) -> Bool {
        let (range, oldRange) = (
            newTree.itemRange(of: array, changeset.new), oldTree.itemRange(of: before, changeset.old)
        )
        var (item, oldItem) = (range.lowerBound, oldRange.lowerBound)
        while item < range.upperBound, oldItem < oldRange.upperBound {
            guard partner(item) == oldItem else { return false }
            (item, oldItem) = (Int(changeset.new.nodes[item].end), Int(changeset.old.nodes[oldItem].end))
        }
        guard item == range.upperBound, oldItem == oldRange.upperBound else { return false }
        item = range.lowerBound
        while item < range.upperBound {
            itemStays[item] = true
            item = Int(changeset.new.nodes[item].end)
        }
        return true
    }

    /// An array that is new holds its new elements from the start.
    private mutating func arrivals(_ children: [Int]) -> [SpliceTracker.Stay] {
        children.indices.filter { partner(children[$0]) < 0 }.map { SpliceTracker.Stay(final: $0, old: 0) }
    }

    private mutating func kept(_ children: [Int], _ array: DocumentArray) -> [SpliceTracker.Stay] {
        var run = IncreasingRun()
        for (place, item) in children.enumerated() where partner(item) >= 0 {
            guard oldTree.array(of: partner(item), changeset.old) == array else { continue }
            run.append(Int32(truncatingIfNeeded: oldTree.ordinals[partner(item)]), at: place)
        }
        var stays: [SpliceTracker.Stay] = []
        run.find(fixedShift: 0) { place in
            let item = children[place]
            stays.append(SpliceTracker.Stay(final: place, old: oldTree.ordinals[partner(item)]))
            itemStays[item] = true
        }
        return stays.reversed()
    }

    // MARK: Placing

    mutating func placeAll() {
        if trackers.isEmpty { return }
        for section in changeset.new.sections.indices { place(section: section) }
        for section in changeset.new.sections.indices { placeChildren(of: .section(section)) }
    }

    private mutating func place(section: Int) {
        guard trackers[.sections] != nil else { return }
        if sectionStays[section] {
            trackers[.sections]!.pass()
        } else if changeset.isNew(section: section) {
            let index = trackers[.sections]!.place()
            begin("add")
            writer.emit("/sections/", index, "\",\"value\":")
            changeset.append(openSection: section, to: &writer)
            writer.append(",\"items\":[")
            appendArrivals(newTree.itemRange(of: .section(section), changeset.new))
            writer.append("]}}")
        } else {
            let from = trackers[.sections]!.leave(changeset.oldSection(of: section))
            let to = trackers[.sections]!.place()
            begin("move", member: "from")
            writer.emit("/sections/", from)
            writer.emit("\",\"path\":\"/sections/", to, "\"}")
        }
    }

    /// Siblings that are new, with those of their descendants that are.
    private mutating func appendArrivals(_ range: Range<Int>) {
        let changeset = changeset
        writer.append(documents: range, of: changeset.new) { changeset.change.items.oldOfNew[$0] < 0 }
    }

    private mutating func placeChildren(of array: DocumentArray) {
        if trackers[array] != nil {
            let children = newTree.children(of: array)
            if case .item(let item) = array, partner(item) >= 0, !oldTree.hasChildren(partner(item)) {
                openArray(of: item)
            }
            // One that is new brought its new elements along.
            let isNew = old(array) == nil
            for child in children { place(child, in: array, arrivedWithContainer: isNew) }
        }
        let range = newTree.itemRange(of: array, changeset.new)
        var child = range.lowerBound
        while child < range.upperBound {
            if newTree.hasChildren(child) { placeChildren(of: .item(child)) }
            child = Int(changeset.new.nodes[child].end)
        }
    }

    /// An item that had no children gets its array, with the children that are new.
    private mutating func openArray(of item: Int) {
        begin("add")
        appendPath(.item(item))
        writer.append("\",\"value\":[")
        appendArrivals(newTree.itemRange(of: .item(item), changeset.new))
        writer.append("]}")
        let children = newTree.children(of: .item(item))
        trackers[.item(item)] = SpliceTracker(stays: arrivals(children), leavers: [], oldCount: 0)
    }

    private mutating func place(_ item: Int, in array: DocumentArray, arrivedWithContainer: Bool) {
        if itemStays[item] {
            trackers[array]!.pass()
        } else if partner(item) < 0 {
            let wasBrought = arrivedWithContainer || isArrayOpened(array)
            let index = trackers[array]!.place()
            if wasBrought { return }
            begin("add")
            appendPath(array)
            writer.emit("/", index, "\",\"value\":")
            let changeset = changeset
            writer.append(document: item, of: changeset.new) { changeset.change.items.oldOfNew[$0] < 0 }
            writer.append(byte: UInt8(ascii: "}"))
        } else {
            move(item, to: array)
        }
    }

    private func isArrayOpened(_ array: DocumentArray) -> Bool {
        guard case .item(let item) = array else { return false }
        return partner(item) >= 0 && !oldTree.hasChildren(partner(item))
    }

    private mutating func move(_ item: Int, to array: DocumentArray) {
        let start = position
        let oldItem = partner(item)
        let source = oldTree.array(of: oldItem, changeset.old)
        begin("move", member: "from")
        let listStart = writer.count
        appendPath(lost: source)
        let listEnd = writer.count
        let from = leave(oldItem, source)
        append(index: from)
        let fromEnd = writer.count
        writer.append("\",\"path\":\"")
        let pathStart = writer.count
        let index = trackers[array]!.place()
        appendPath(array)
        append(index: index)
        if writer.written.isPath(at: pathStart, below: listStart..<fromEnd) {
            // An element that goes into the one behind it: with itself removed, that one has its index, so the paths
            // read as if it went into itself, which RFC 6902 §4.4 forbids. One step further it stands behind it.
            let (list, path) = (Array(writer.written[listStart..<listEnd]), Array(writer.written[pathStart...]))
            withdraw(to: start)
            writeMove(list, from, to: list + Array("/\(from + 1)".utf8))
            writeMove(list, from + 1, to: path)
        } else {
            writer.append("\"}")
        }
    }

    private mutating func writeMove(_ list: [UInt8], _ index: Int, to path: [UInt8]) {
        begin("move", member: "from")
        writer.append(list)
        append(index: index)
        writer.append("\",\"path\":\"")
        writer.append(path)
        writer.append("\"}")
    }

    private mutating func leave(_ oldItem: Int, _ source: DocumentArray) -> Int {
        let ordinal = oldTree.ordinals[oldItem]
        if let array = new(source) { return trackers[array]!.leave(ordinal) }
        if lostTrackers[source] == nil {
            let count = oldTree.children(of: source).count
            lostTrackers[source] = SpliceTracker(stays: [], leavers: 0..<count, oldCount: count)
        }
        return lostTrackers[source]!.leave(ordinal)
    }

    /// The array of the new document that an old one is now; nil if its item or section is gone.
    func new(_ array: DocumentArray) -> DocumentArray? {
        switch array {
        case .sections: return .sections
        case .section(let section):
            return changeset.isGone(oldSection: section) ? nil : .section(changeset.newSection(of: section))
        case .item(let item): return successor(item) < 0 ? nil : .item(successor(item))
        }
    }

    // MARK: Removing

    mutating func removeAll() {
        for section in changeset.new.sections.indices { removeLeavers(of: .section(section)) }
        let items = trackers.keys.compactMap { if case .item(let item) = $0 { item } else { nil } }
        for item in items.sorted() { removeLeavers(of: .item(item)) }
        removeLeavers(of: .sections)
    }

    private mutating func removeLeavers(of array: DocumentArray) {
        guard let before = old(array), let tracker = trackers[array] else { return }
        if case .item(let item) = array, !newTree.hasChildren(item) {
            begin("remove")
            appendPath(array)
            writer.append("\"}")
            return
        }
        guard tracker.leaversLeft > 0 else { return }
        for ordinal in goneOrdinals(of: before).reversed() {
            let index = trackers[array]!.leave(ordinal)
            begin("remove")
            appendPath(array)
            writer.emit("/", index, "\"}")
        }
    }

    private func goneOrdinals(of array: DocumentArray) -> [Int] {
        if case .sections = array {
            return changeset.old.sections.indices.filter { changeset.isGone(oldSection: $0) }
        }
        let children = oldTree.children(of: array)
        return children.indices.filter { successor(children[$0]) < 0 }
    }
}

extension ArraySlice<UInt8> {
    /// Whether the path that begins at `start` leads into what the path in `other` leads to.
    fileprivate func isPath(at start: Int, below other: Range<Int>) -> Bool {
        let path = self[start...]
        return path.dropFirst(other.count).first == UInt8(ascii: "/") && path.starts(with: self[other])
    }
}
