// Operations on ids, applied one after the other. Sections and rows are links of rings, found by id, so that an
// operation is O(1) anywhere; the list is rebuilt at the end.

import SnapshotKit

extension RowList {
    /// This list after the `changes` of a `keyed` changeset. O(n + operations).
    ///
    /// - Throws: `ApplyError` if an id or anchor is unknown, if a new id is taken, or if this is anything else.
    public func applying(keyed changes: consuming [UInt8]) throws(ApplyError) -> RowList {
        try applying(keyed: JSONSlice(checking: changes))
    }

    func applying(keyed changes: JSONSlice) throws(ApplyError) -> RowList {
        var linked = LinkedList()
        for section in sections { try linked.insert(section, before: linked.end, changes) }
        for operation in try changes.asArray() { try linked.apply(operation) }
        return RowList(content: content, sections: linked.inOrder)
    }
}

/// A list while operations are being applied.
private struct LinkedList {
    /// The sections, without their rows.
    private var sections = Rings<RowList.Section>()
    private var rows = Rings<RowList.Row>()
    /// The end of the ring of all sections.
    let end: Int
    private var rings: [ElementID: Int] = [:]

    init() { end = sections.addRing() }

    var inOrder: [RowList.Section] {
        sections.elements(in: end).map { section in
            var section = section
            section.rows = rings[section.id].map(rows.elements) ?? []
            return section
        }
    }

    mutating func apply(_ value: JSONSlice) throws(ApplyError) {
        let members = try value.object(["op", "section", "item", "items", "in", "before", "as"])
        let op = try members.required("op").asString()
        if op == "update" {
            _ = try members.required("as").asRedraw()
        } else if let redraw = members["as"] {
            throw redraw.wrong("only an update may have as")
        }
        switch (op, members["section"], members["item"], members["items"]) {
        case ("insert", let section?, nil, nil):
            try insert(RowList.Section(section), before: sections.anchor(members, in: end), section)
        case ("insert", nil, nil, let items?):
            let next = try rows.anchor(members, in: ring(members.required("in")))
            for item in try items.asArray() { try rows.insert(RowList.Row(item), before: next, item) }
        case ("move", let id?, nil, nil): try sections.move(id, before: sections.anchor(members, in: end))
        case ("move", nil, let id?, nil):
            try rows.move(id, before: rows.anchor(members, in: ring(members.required("in"))))
        case ("remove", let id?, nil, nil):
            for row in rows.elements(in: try ring(id)) { try rows.remove(row.id, id) }
            rings[try id.asID()] = nil
            try sections.remove(id.asID(), id)
        case ("remove", nil, nil, let ids?): for id in try ids.asArray() { try rows.remove(id.asID(), id) }
        case ("update", let section?, nil, nil): try sections.update(section)
        case ("update", nil, nil, let items?): for item in try items.asArray() { try rows.update(item) }
        default: throw value.wrong("an operation must insert, remove or update a section or items, or move one of them")
        }
    }

    mutating func insert(_ section: RowList.Section, before next: Int, _ value: JSONSlice) throws(ApplyError) {
        var bare = section
        bare.rows = []
        try sections.insert(bare, before: next, value)
        let ring = rows.addRing()
        rings[section.id] = ring
        for row in section.rows { try rows.insert(row, before: ring, value) }
    }

    private func ring(_ value: JSONSlice) throws(ApplyError) -> Int {
        let id = try value.asID()
        guard let ring = rings[id] else { throw value.error(.unknownID, "no section has the id \"\(id)\"") }
        return ring
    }
}

/// Rings of elements, found by id. Each ring has a sentinel, a link without an element, whose number is the ring's:
/// inserting before it appends, and every link has neighbours.
private struct Rings<Element: ListElement> {
    private struct Link {
        var element: Element?
        var ring: Int
        var previous: Int
        var next: Int
    }

    private var links: [Link] = []
    private var numbers: [ElementID: Int] = [:]

    mutating func addRing() -> Int {
        let ring = links.count
        links.append(Link(ring: ring, previous: ring, next: ring))
        return ring
    }

    func elements(in ring: Int) -> [Element] {
        var elements: [Element] = []
        var link = links[links[ring].next]
        while let element = link.element {
            elements.append(element)
            link = links[link.next]
        }
        return elements
    }

    private func number(of id: ElementID, _ value: JSONSlice) throws(ApplyError) -> Int {
        guard let number = numbers[id] else { throw value.error(.unknownID, "nothing has the id \"\(id)\"") }
        return number
    }

    /// The link named by an operation's `before`, which is required; the ring's sentinel for null.
    func anchor(_ members: Members, in ring: Int) throws(ApplyError) -> Int {
        let value = try members.required("before")
        if value.isNull { return ring }
        let anchor = try number(of: value.asID(), value)
        guard links[anchor].ring == ring else { throw value.error(.unknownID, "the anchor is not among the siblings") }
        return anchor
    }

    mutating func insert(_ element: Element, before next: Int, _ value: JSONSlice) throws(ApplyError) {
        guard numbers.updateValue(links.count, forKey: element.id) == nil else {
            throw value.error(.duplicateID, "the id \"\(element.id)\" already exists")
        }
        links.append(Link(element: element, ring: next, previous: next, next: next))
        join(links.count - 1, before: next)
    }

    mutating func move(_ id: JSONSlice, before next: Int) throws(ApplyError) {
        let number = try number(of: id.asID(), id)
        if number == next { throw id.wrong("an element cannot move before itself") }
        part(number)
        join(number, before: next)
    }

    mutating func remove(_ id: ElementID, _ value: JSONSlice) throws(ApplyError) {
        part(try number(of: id, value))
        numbers[id] = nil
    }

    mutating func update(_ value: JSONSlice) throws(ApplyError) {
        let update = try Updated<Element>(value)
        let number = try number(of: update.id, value)
        links[number].element = try update.applied(to: links[number].element)
    }

    private mutating func join(_ number: Int, before next: Int) {
        let previous = links[next].previous
        (links[number].ring, links[number].previous, links[number].next) = (links[next].ring, previous, next)
        links[previous].next = number
        links[next].previous = number
    }

    private mutating func part(_ number: Int) {
        let (previous, next) = (links[number].previous, links[number].next)
        links[previous].next = next
        links[next].previous = previous
    }
}
