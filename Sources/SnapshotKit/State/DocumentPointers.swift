/// Where sections and items are in a document: turns ordinals into JSON Pointers, for errors only.
struct DocumentPointers {
    /// Pointer to the state or the document; in a batch, to the edits.
    var root: String
    /// The edit being read, if any, and its member that holds the elements.
    var edit: Int? = nil
    var member: String? = nil
    /// The index of the section that is the first element of the array of sections.
    var firstSection = 0
    var layout = Layout.array

    /// The pointers onwards from the root. An object, since most documents share one of three.
    final class Layout: Sendable {
        /// From the root to the array of sections; nil if the only section is not written as one.
        let sections: String?
        /// From a section's element, or from the root, to its array of items.
        let items: String
        /// From a section's element, and from an item's, to its id; empty if the id has several parts.
        let sectionID: String
        let itemID: String
        /// From a section's element to whether it is expanded.
        let sectionExpanded: String
        /// From an item's element to its kind, to whether it is expanded, to what it is grouped by, and to its
        /// children.
        let kind: String
        let expanded: String
        let group: String
        let children: String
        /// Whether items are in a separate list, whatever their section.
        let isGrouped: Bool
        /// Whether the ids of items begin with those of their sections.
        let scopesIDs: Bool
        /// Whether items, and sections, are members of objects, named by their ids.
        let isMap: Bool
        let sectionsAreMap: Bool

        /// An array of items.
        static let array = Layout(items: "")
        /// An object with `items`.
        static let items = Layout(items: "/items")
        /// An object with `sections`.
        static let sections = Layout(sections: "/sections", items: "/items")

        private init(sections: String? = nil, items: String) {
            (self.sections, self.items, sectionID, itemID) = (sections, items, "/id", "/id")
            (kind, expanded, sectionExpanded, children) = ("/kind", "/expanded", "/expanded", "/items")
            (group, isGrouped, scopesIDs, isMap, sectionsAreMap) = ("", false, false, false, false)
        }

        /// A document with a list at these places.
        init(_ places: StateShape.Places) {
            let element = places.element
            sections = places.sectionsAt?.description
            items = places.items.description
            sectionID = places.sectionsAreMap ? "" : places.sectionIDAt.description
            sectionExpanded = places.sectionExpandedAt?.description ?? ""
            itemID = element.isMap || element.idAt.count > 1 ? "" : element.idAt[0].description
            kind = element.kindAt?.description ?? ""
            expanded = element.expandedAt?.description ?? ""
            children = element.childrenAt?.description ?? ""
            (group, isGrouped) = (element.groupAt?.description ?? "", element.groupAt != nil)
            (scopesIDs, isMap, sectionsAreMap) = (element.scopesIDs, element.isMap, places.sectionsAreMap)
        }
    }

    /// Pointer to the value being read.
    var start: String { root + (edit.map { "/\($0)" } ?? "") + (member.map { "/\($0)" } ?? "") }

    func section(_ ordinal: Int) -> String { section(named: "\(ordinal - firstSection)") }

    /// - Parameter step: the section's ordinal, or its name.
    func section(named step: String) -> String {
        guard let sections = layout.sections else { return start }
        return "\(start)\(sections)/\(step)"
    }

    /// The array of items of a section.
    func list(in section: String) -> String { (layout.isGrouped ? start : section) + layout.items }

    /// - Parameters:
    ///   - section: pointer to its section.
    ///   - steps: an item's ordinal or name among its siblings at each level, outermost first.
    func item(in section: String, _ steps: some Sequence<some CustomStringConvertible>) -> String {
        var path = list(in: section)
        for (level, step) in steps.enumerated() { path += level == 0 ? "/\(step)" : "\(layout.children)/\(step)" }
        return path
    }

    /// A pointer's step to an item that is named by its id.
    ///
    /// - Parameter isScoped: whether the id begins with its section's, whose slashes are escaped as in pointers.
    static func name(_ id: [UInt8], _ isScoped: Bool) -> String {
        isScoped
            ? String(decoding: id.drop { $0 != UInt8(ascii: "/") }.dropFirst(), as: UTF8.self) : JSONPointer.escaped(id)
    }

    /// Pointer to an item's id; `step` returns an item's ordinal or name among its siblings. O(levels).
    ///
    /// - Parameter section: pointer to its section.
    func id<Nodes: RandomAccessCollection<Node>>(
        ofItem item: Int, in section: String, _ nodes: Nodes, step: (Int) -> String
    ) -> String where Nodes.Index == Int {
        var lineage: [String] = []
        var index = item
        while index >= 0 {
            lineage.append(step(index))
            index = Int(nodes[index].parent)
        }
        let place = self.item(in: section, lineage.reversed())
        return nodes[item].flags.contains(.isBare) ? place : place + layout.itemID
    }
}
