// RFC 6902 on the document, with items as units: an id is added, removed or moved, never written over another.
//
// Containers are the array of sections and each `items` array. The target is walked from the top down, each container
// from its start: what stays is passed, what is new is added (with those of its descendants that are new too), what was
// elsewhere is moved here. So when an element is placed, everything above it is in its final place, and no element is
// ever moved into itself. Elements that are gone stay where they are until everything that survives has left them; then
// the topmost of them are removed.
//
// Array indexes shift with every step. Each container that changes has a `ListTracker`, which tells where its elements
// are right now; the path to an element asks one container a level.

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
    let oldTree: Containers
    let newTree: Containers
    /// Of items, and of sections: in both states, in the same container, and not to be moved.
    var itemStays: [Bool]
    private var sectionStays: [Bool]
    /// Containers of the new document that differ from the old ones.
    var trackers: [Container: ListTracker] = [:]
    /// Containers of items that are gone, while anything is in them.
    var lostTrackers: [Container: ListTracker] = [:]

    init(_ changeset: ChangesetView, _ writer: JSONWriter) {
        self.changeset = changeset
        self.writer = writer
        self.writer.append(byte: UInt8(ascii: "["))
        oldTree = Containers(changeset.old)
        newTree = Containers(changeset.new)
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
            ListTracker.Stay(final: $0, old: changeset.oldSection(of: $0))
        }
        let staying = Set(stays.map(\.old))
        guard stays.count < changeset.old.sections.count || stays.count < changeset.new.sections.count else { return }
        trackers[.sections] = ListTracker(
            stays: stays, leavers: changeset.old.sections.indices.filter { !staying.contains($0) },
            oldCount: changeset.old.sections.count)
    }

    /// The container of the old document that a new one was; nil if there was none.
    private func old(_ container: Container) -> Container? {
        switch container {
        case .sections: return .sections
        case .section(let section):
            return changeset.isNew(section: section) ? nil : .section(changeset.oldSection(of: section))
        case .item(let item): return partner(item) < 0 ? nil : .item(partner(item))
        }
    }

    /// Decides what stays in a container of items, and tracks it if anything does not.
    private mutating func plan(_ container: Container) {
        let before = old(container)
        if let before, keepsAll(container, before) { return }
        let oldChildren = before.map(oldTree.children) ?? []
        let children = newTree.children(of: container)
        let stays = before == nil ? arrivals(children) : kept(children, before!)
        guard stays.count < children.count || stays.count < oldChildren.count || before == nil else { return }
        let staying = Set(stays.map(\.old))
        let leavers = before == nil ? [] : oldChildren.indices.filter { !staying.contains($0) }
        trackers[container] = ListTracker(stays: stays, leavers: leavers, oldCount: oldChildren.count)
    }

    /// Whether a container holds what it held before, in the same order; then all of it stays. Most containers do, so
    /// this makes no lists.
    private mutating func keepsAll(_ container: Container, _ before: Container) -> Bool {
        let (range, oldRange) = (
            newTree.itemRange(of: container, changeset.new), oldTree.itemRange(of: before, changeset.old)
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

    /// A container that is new holds its new elements from the start.
    private mutating func arrivals(_ children: [Int]) -> [ListTracker.Stay] {
        children.indices.filter { partner(children[$0]) < 0 }.map { ListTracker.Stay(final: $0, old: 0) }
    }

    private mutating func kept(_ children: [Int], _ container: Container) -> [ListTracker.Stay] {
        var run = IncreasingRun()
        for (place, item) in children.enumerated() where partner(item) >= 0 {
            guard oldTree.container(of: partner(item), changeset.old) == container else { continue }
            run.append(Int32(truncatingIfNeeded: oldTree.ordinals[partner(item)]), at: place)
        }
        var stays: [ListTracker.Stay] = []
        run.find(fixedShift: 0) { place in
            let item = children[place]
            stays.append(ListTracker.Stay(final: place, old: oldTree.ordinals[partner(item)]))
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
            writer.append("/sections/")
            writer.append(index)
            writer.append("\",\"value\":")
            changeset.append(openSection: section, to: &writer)
            writer.append(",\"items\":[")
            appendArrivals(newTree.itemRange(of: .section(section), changeset.new))
            writer.append("]}}")
        } else {
            let from = trackers[.sections]!.leave(changeset.oldSection(of: section))
            let to = trackers[.sections]!.place()
            begin("move", member: "from")
            writer.append("/sections/")
            writer.append(from)
            writer.append("\",\"path\":\"/sections/")
            writer.append(to)
            writer.append("\"}")
        }
    }

    /// Siblings that are new, with those of their descendants that are.
    private mutating func appendArrivals(_ range: Range<Int>) {
        let changeset = changeset
        writer.append(documents: range, of: changeset.new) { changeset.change.items.oldOfNew[$0] < 0 }
    }

    private mutating func placeChildren(of container: Container) {
        if trackers[container] != nil {
            let children = newTree.children(of: container)
            if case .item(let item) = container, partner(item) >= 0, !oldTree.hasChildren(partner(item)) {
                openArray(of: item)
            }
            let arrivedWithContainer = arrives(container)
            for child in children { place(child, in: container, arrivedWithContainer: arrivedWithContainer) }
        }
        let range = newTree.itemRange(of: container, changeset.new)
        var child = range.lowerBound
        while child < range.upperBound {
            if newTree.hasChildren(child) { placeChildren(of: .item(child)) }
            child = Int(changeset.new.nodes[child].end)
        }
    }

    /// Whether a container is new, and so brought its new elements along.
    private func arrives(_ container: Container) -> Bool { old(container) == nil }

    /// An item that had no children gets its array, with the children that are new.
    private mutating func openArray(of item: Int) {
        begin("add")
        appendPath(.item(item))
        writer.append("\",\"value\":[")
        appendArrivals(newTree.itemRange(of: .item(item), changeset.new))
        writer.append("]}")
        let children = newTree.children(of: .item(item))
        trackers[.item(item)] = ListTracker(stays: arrivals(children), leavers: [], oldCount: 0)
    }

    private mutating func place(_ item: Int, in container: Container, arrivedWithContainer: Bool) {
        if itemStays[item] {
            trackers[container]!.pass()
        } else if partner(item) < 0 {
            let wasBrought = arrivedWithContainer || isArrayOpened(container)
            let index = trackers[container]!.place()
            if wasBrought { return }
            begin("add")
            appendPath(container)
            writer.append(byte: UInt8(ascii: "/"))
            writer.append(index)
            writer.append("\",\"value\":")
            let changeset = changeset
            writer.append(document: item, of: changeset.new) { changeset.change.items.oldOfNew[$0] < 0 }
            writer.append(byte: UInt8(ascii: "}"))
        } else {
            move(item, to: container)
        }
    }

    private func isArrayOpened(_ container: Container) -> Bool {
        guard case .item(let item) = container else { return false }
        return partner(item) >= 0 && !oldTree.hasChildren(partner(item))
    }

    private mutating func move(_ item: Int, to container: Container) {
        let start = position
        let oldItem = partner(item)
        let source = oldTree.container(of: oldItem, changeset.old)
        begin("move", member: "from")
        let listStart = writer.count
        appendPath(lost: source)
        let listEnd = writer.count
        let from = leave(oldItem, source)
        append(index: from)
        let fromEnd = writer.count
        writer.append("\",\"path\":\"")
        let pathStart = writer.count
        let index = trackers[container]!.place()
        appendPath(container)
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

    private mutating func leave(_ oldItem: Int, _ source: Container) -> Int {
        let ordinal = oldTree.ordinals[oldItem]
        if let container = new(source) { return trackers[container]!.leave(ordinal) }
        if lostTrackers[source] == nil {
            let count = oldTree.children(of: source).count
            lostTrackers[source] = ListTracker(stays: [], leavers: 0..<count, oldCount: count)
        }
        return lostTrackers[source]!.leave(ordinal)
    }

    /// The container of the new document that an old one is now; nil if its item or section is gone.
    func new(_ container: Container) -> Container? {
        switch container {
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

    private mutating func removeLeavers(of container: Container) {
        guard let before = old(container), let tracker = trackers[container] else { return }
        if case .item(let item) = container, !newTree.hasChildren(item) {
            begin("remove")
            appendPath(container)
            writer.append("\"}")
            return
        }
        guard tracker.leaversLeft > 0 else { return }
        for ordinal in goneOrdinals(of: before).reversed() {
            let index = trackers[container]!.leave(ordinal)
            begin("remove")
            appendPath(container)
            writer.append(byte: UInt8(ascii: "/"))
            writer.append(index)
            writer.append("\"}")
        }
    }

    private func goneOrdinals(of container: Container) -> [Int] {
        if case .sections = container {
            return changeset.old.sections.indices.filter { changeset.isGone(oldSection: $0) }
        }
        let children = oldTree.children(of: container)
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
