/// Where sections and items are in a document: turns ordinals into JSON Pointers, for errors only.
struct DocumentPointers {
    /// Pointer to the state or the document; in a batch, to the edits.
    var root: String
    /// The edit that is read, if any, and its member that holds the elements.
    var edit: Int? = nil
    var member: String? = nil
    /// From the root to the array of sections; nil if the only section is not written as one.
    var sections: String? = nil
    /// From a section's element, or from the root, to its array of items.
    var items = ""
    /// The index of the section that is the first element of the array of sections.
    var firstSection = 0
    /// From a section's element, and from an item's, to its id; empty if the id has several parts.
    var sectionID = "/id"
    var itemID = "/id"
    /// From an item's element to its kind, and to whether it is expanded.
    var kind = "/kind"
    var expanded = "/expanded"
    /// From an item's element to its children.
    var children = "/items"
    /// Whether items are members of objects, named by their ids.
    var isMap = false

    /// Pointer to the value that is read.
    var start: String { root + (edit.map { "/\($0)" } ?? "") + (member.map { "/\($0)" } ?? "") }

    func section(_ ordinal: Int) -> String {
        guard let sections else { return start }
        return "\(start)\(sections)/\(ordinal - firstSection)"
    }

    /// - Parameter steps: an item's ordinal or name among its siblings at each level, outermost first.
    func item(section: Int, _ steps: some Sequence<some CustomStringConvertible>) -> String {
        var path = self.section(section) + items
        for (level, step) in steps.enumerated() { path += level == 0 ? "/\(step)" : "\(children)/\(step)" }
        return path
    }

    /// Pointer to an item's id; `step` returns an item's ordinal or name among its siblings. O(levels).
    func id<Nodes: RandomAccessCollection<Node>>(
        ofItem item: Int, _ nodes: Nodes, step: (Int) -> String
    ) -> String where Nodes.Index == Int {
        var lineage: [String] = []
        var index = item
        while index >= 0 {
            lineage.append(step(index))
            index = Int(nodes[index].parent)
        }
        let place = self.item(section: Int(nodes[item].section), lineage.reversed())
        return nodes[item].flags.contains(.isBare) ? place : place + itemID
    }
}
