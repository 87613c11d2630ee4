// RFC 6902 on the document, with items as units: an id is added, removed or moved, never written over another.
//
// The arrays are that of the sections and each `items` array. The target is walked from the top down, each array from
// its start: an element that stays is passed, a new one is added (with those of its descendants that are new too), and
// one that was elsewhere is moved here. So when an element is put, everything above it is at its final position, and no
// element is ever moved into itself. Elements that are gone stay where they are until everything that survives has left
// them; then the topmost of them are removed.
//
// Array indexes shift with every step. Each array that changes has a `SpliceTracker`; a path asks one per level.

extension ChangesetView {
    func writeJSONPatch(into writer: inout JSONWriter) {
        writer.append("[")
        var patch = JSONPatch(self, exchange(&writer, with: JSONWriter(capacity: 0)))
        patch.putAll()
        patch.removeAll()
        patch.updateAll()
        patch.writer.append("]")
        writer = patch.writer
    }
}

/// A patch in the making. Sections and items are vertices of the document before or after.
struct JSONPatch {
    let changeset: ChangesetView
    var writer: JSONWriter
    var path = JSONWriter()
    /// The members of the two contents that are being compared.
    var before = JSONMembers()
    var after = JSONMembers()
    let oldTree: ColumnsTree
    let newTree: ColumnsTree
    /// The index of each vertex in its array.
    private let oldOrdinals: [Int]
    private let newOrdinals: [Int]
    /// Partners in the other document; -1 for none.
    let oldOfNew: [Int]
    let newOfOld: [Int]
    /// Whether a vertex of the new document is in the array it was in, and need not move.
    private(set) var stays: [Bool]
    /// Arrays that change, by their vertices in the new document; those that are gone by the complements of their
    /// vertices in the old one, from the first element that leaves them on.
    var trackers: [Int: SpliceTracker] = [:]

    init(_ changeset: ChangesetView, _ writer: JSONWriter) {
        (self.changeset, self.writer) = (changeset, writer)
        (oldTree, newTree) = (ColumnsTree(changeset.old), ColumnsTree(changeset.new))
        (oldOrdinals, newOrdinals) = (oldTree.ordinals, newTree.ordinals)
        let (sections, items) = (changeset.change.sections, changeset.change.items)
        oldOfNew = Self.partners(sections.oldOfNew, items.oldOfNew, firstItem: oldTree.firstItem)
        newOfOld = Self.partners(sections.newOfOld, items.newOfOld, firstItem: newTree.firstItem)
        stays = [Bool](repeating: false, count: newTree.vertices.count)
        for array in newTree.vertices where newTree.hasArray(array) || hadArray(array) { plan(array) }
    }

    private static func partners(_ sections: [Int32], _ items: [Int32], firstItem: Int) -> [Int] {
        var partners = [ColumnsTree.root]
        partners.reserveCapacity(1 + sections.count + items.count)
        partners += sections.lazy.map { $0 < 0 ? -1 : 1 + Int($0) }
        partners += items.lazy.map { $0 < 0 ? -1 : firstItem + Int($0) }
        return partners
    }

    /// Whether an array of the new document existed before. If not, it is added with its new elements.
    private func hadArray(_ array: Int) -> Bool { oldOfNew[array] >= 0 && oldTree.hasArray(oldOfNew[array]) }

    private func trackerKey(ofOld array: Int) -> Int { newOfOld[array] >= 0 ? newOfOld[array] : ~array }

    // MARK: Planning

    private mutating func plan(_ array: Int) {
        let children = newTree.children(of: array)
        guard hadArray(array) else {
            let insertions = children.enumerated().filter { oldOfNew[$0.element] < 0 }
            trackers[array] = SpliceTracker(stays: insertions.map { ($0.offset, 0) }, removals: [], oldCount: 0)
            return
        }
        let oldChildren = oldTree.children(of: oldOfNew[array])
        if children.elementsEqual(oldChildren, by: { oldOfNew[$0] == $1 }) {
            for child in children { stays[child] = true }
            return
        }
        var run = IncreasingRun()
        for child in children where oldOfNew[child] >= 0 && oldTree.parent(of: oldOfNew[child]) == oldOfNew[array] {
            run.append(Int32(truncatingIfNeeded: oldOrdinals[oldOfNew[child]]), at: newOrdinals[child])
        }
        let vertices = Array(children)
        var kept: [SpliceTracker.FixedElement] = []
        run.find(fixedShift: 0) { ordinals in
            for ordinal in ordinals.reversed() {
                kept.append((ordinal, oldOrdinals[oldOfNew[vertices[ordinal]]]))
                stays[vertices[ordinal]] = true
            }
        }
        let removals = oldChildren.enumerated().filter { newOfOld[$0.element] < 0 || !stays[newOfOld[$0.element]] }
        trackers[array] = SpliceTracker(
            stays: kept.reversed(), removals: removals.map(\.offset), oldCount: removals.count + kept.count)
    }

    // MARK: Adding and moving

    fileprivate mutating func putAll() {
        if !trackers.isEmpty { putChildren(of: ColumnsTree.root) }
    }

    private mutating func putChildren(of array: Int) {
        let children = newTree.children(of: array)
        if trackers[array] != nil {
            let isAddedWithParent = !hadArray(array)
            if isAddedWithParent, oldOfNew[array] >= 0 {
                begin("add")
                appendPath(toArray: array)
                writer.append("\",\"value\":[")
                appendInsertions(below: array)
                writer.append("]}")
            }
            for child in children { put(child, in: array, isAddedWithParent: isAddedWithParent) }
        }
        for child in children where newTree.hasArray(child) { putChildren(of: child) }
    }

    private mutating func appendInsertions(below vertex: Int) {
        let changeset = changeset
        writer.append(documents: newTree.items(below: vertex), of: changeset.new) {
            changeset.change.items.oldOfNew[$0] < 0
        }
    }

    private mutating func put(_ vertex: Int, in array: Int, isAddedWithParent: Bool) {
        if stays[vertex] {
            trackers[array]!.pass()
        } else if oldOfNew[vertex] >= 0 {
            move(vertex, to: array)
        } else {
            let index = trackers[array]!.put()
            if isAddedWithParent { return }
            begin("add")
            appendPath(toArray: array)
            writer.emit("/", index, "\",\"value\":")
            let changeset = changeset
            if vertex < newTree.firstItem {
                writer.append(openSection: vertex - 1, of: changeset.new)
                writer.append(",\"items\":[")
                appendInsertions(below: vertex)
                writer.append("]}}")
            } else {
                writer.append(document: vertex - newTree.firstItem, of: changeset.new) {
                    changeset.change.items.oldOfNew[$0] < 0
                }
                writer.append("}")
            }
        }
    }

    private mutating func move(_ vertex: Int, to array: Int) {
        let start = writer.count
        let oldVertex = oldOfNew[vertex]
        let source = oldTree.parent(of: oldVertex)
        begin("move", member: "from")
        let listStart = writer.count
        appendPath(toOldArray: source)
        let listEnd = writer.count
        let from = leave(oldVertex, source)
        writer.emit("/", from)
        let fromEnd = writer.count
        writer.append("\",\"path\":\"")
        let pathStart = writer.count
        let index = trackers[array]!.put()
        appendPath(toArray: array)
        writer.emit("/", index)
        if writer.written.isPath(at: pathStart, below: listStart..<fromEnd) {
            // The element goes into the one after it. Once it is removed, that one has its index, so the paths read as
            // if it went into itself, which RFC 6902 §4.4 forbids. So it first moves one step further, behind that one.
            let (list, path) = (Array(writer.written[listStart..<listEnd]), Array(writer.written[pathStart...]))
            writer.truncate(to: start)
            writeMove(list, from, to: list + Array("/\(from + 1)".utf8))
            writeMove(list, from + 1, to: path)
        } else {
            writer.append("\"}")
        }
    }

    private mutating func writeMove(_ list: [UInt8], _ index: Int, to path: [UInt8]) {
        begin("move", member: "from")
        writer.append(list)
        writer.emit("/", index, "\",\"path\":\"")
        writer.append(path)
        writer.append("\"}")
    }

    private mutating func leave(_ oldVertex: Int, _ source: Int) -> Int {
        let key = trackerKey(ofOld: source)
        if trackers[key] == nil {
            let count = Array(oldTree.children(of: source)).count
            trackers[key] = SpliceTracker(stays: [], removals: 0..<count, oldCount: count)
        }
        return trackers[key]!.leave(oldOrdinals[oldVertex])
    }

    // MARK: Removing

    mutating func removeAll() {
        for array in trackers.keys.filter({ $0 > ColumnsTree.root }).sorted() { removeLeavers(of: array) }
        if trackers[ColumnsTree.root] != nil { removeLeavers(of: ColumnsTree.root) }
    }

    private mutating func removeLeavers(of array: Int) {
        guard hadArray(array) else { return }
        guard newTree.hasArray(array) else {
            begin("remove")
            appendPath(toArray: array)
            return writer.append("\"}")
        }
        for vertex in oldTree.children(of: oldOfNew[array]).reversed() where newOfOld[vertex] < 0 {
            let index = trackers[array]!.leave(oldOrdinals[vertex])
            begin("remove")
            appendPath(toArray: array)
            writer.emit("/", index, "\"}")
        }
    }
}

extension ArraySlice<UInt8> {
    /// Whether the path that begins at `start` leads into the target of the path in `other`.
    fileprivate func isPath(at start: Int, below other: Range<Int>) -> Bool {
        let path = self[start...]
        return path.dropFirst(other.count).first == UInt8(ascii: "/") && path.starts(with: self[other])
    }
}

extension JSONPatch {
    /// Starts an operation, up to the quote of its first pointer.
    mutating func begin(_ operation: StaticString, member: StaticString = "path") {
        writer.separate()
        writer.append("{\"op\":\"")
        writer.append(operation)
        writer.append("\",\"")
        writer.append(member)
        writer.append("\":\"")
    }

    mutating func goTo(_ vertex: Int) {
        let start = writer.count
        if vertex != ColumnsTree.root { appendPath(to: vertex) }
        path.truncate(to: 0)
        path.append(writer, from: start)
        writer.truncate(to: start)
    }

    mutating func inside(_ name: (inout JSONWriter) -> Void, _ body: (inout JSONPatch) -> Void) {
        let length = path.count
        name(&path)
        body(&self)
        path.truncate(to: length)
    }

    private mutating func appendPath(toArray array: Int) {
        if array == ColumnsTree.root { return writer.append("/sections") }
        appendPath(to: array)
        writer.append("/items")
    }

    /// The path of an element of the new document that has already been put.
    private mutating func appendPath(to vertex: Int) {
        let (array, ordinal) = (newTree.parent(of: vertex), newOrdinals[vertex])
        let tracker = trackers[array]
        if let tracker, ordinal >= tracker.next, !stays[vertex], oldOfNew[vertex] >= 0 {
            return appendPath(toOld: oldOfNew[vertex])
        }
        appendPath(toArray: array)
        writer.emit("/", tracker?.index(ofFinal: ordinal) ?? ordinal)
    }

    private mutating func appendPath(toOldArray array: Int) {
        if newOfOld[array] >= 0 { return appendPath(toArray: newOfOld[array]) }
        appendPath(toOld: array)
        writer.append("/items")
    }

    /// The path of an element of the old document that is still in its old array.
    private mutating func appendPath(toOld vertex: Int) {
        let (array, ordinal) = (oldTree.parent(of: vertex), oldOrdinals[vertex])
        appendPath(toOldArray: array)
        writer.emit("/", trackers[trackerKey(ofOld: array)]?.index(ofRemoval: ordinal) ?? ordinal)
    }
}

// The document's tree: an array of elements is named by the vertex that holds it.

extension ColumnsTree {
    /// Whether the document has an array there: items without children have none.
    fileprivate func hasArray(_ vertex: Int) -> Bool { vertex < firstItem || end(of: vertex) > vertex + 1 }

    fileprivate func children(of vertex: Int) -> Siblings {
        Siblings(tree: self, vertex: below(vertex).lowerBound, end: below(vertex).upperBound)
    }

    /// Items at any depth, by their index in the state.
    fileprivate func items(below vertex: Int) -> Range<Int> {
        below(vertex).lowerBound - firstItem..<below(vertex).upperBound - firstItem
    }

    /// The index of each vertex in its array. O(n).
    fileprivate var ordinals: [Int] {
        var ordinals = [Int](filled: 0, count: vertices.count)
        var children = ordinals
        for vertex in vertices.dropFirst() {
            ordinals[vertex] = children[parent(of: vertex)]
            children[parent(of: vertex)] += 1
        }
        return ordinals
    }
}

private struct Siblings: Sequence, IteratorProtocol {
    let tree: ColumnsTree
    var vertex: Int
    let end: Int

    mutating func next() -> Int? {
        guard vertex < end else { return nil }
        defer { vertex = tree.end(of: vertex) }
        return vertex
    }
}
