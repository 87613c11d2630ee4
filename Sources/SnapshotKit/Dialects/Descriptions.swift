extension Changeset: CustomStringConvertible {
    /// What `json(_:staging:content:)` returns, as text.
    public func text(
        _ dialect: Dialect = .keyed, staging: Staging = .safe, content: ContentStyle = .full
    ) -> String { String(decoding: json(dialect, staging: staging, content: content), as: UTF8.self) }

    /// The operations of the dialect `keyed`, a line each, and first the list's own content if it changed.
    public var description: String {
        var list = JSONWriter()
        if changesList { writeList(into: &list) }
        let operations = JSONText(accepted: json(.keyed)).slice.elements?.map(\.text) ?? []
        let lines = (list.count > 0 ? [list.bytes()] : []) + operations
        return lines.isEmpty ? "no changes" : lines.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "\n")
    }
}

extension Snapshot: CustomStringConvertible {
    /// A line for each section and each item, hidden ones too, indented below its parent: id, kind and content.
    public var description: String {
        var lines = content.map { [Self.line($0)] } ?? []
        for section in sections {
            lines.append(Self.line(section.id, section.content, isExpanded: section.isExpanded))
            for index in Int(section.node.firstItem)..<Int(section.node.endItem) {
                let item = StateItem(columns: columns, index: index)
                let line = Self.line(item.id, item.content, kind: item.kind, isExpanded: item.isExpanded)
                lines.append(String(repeating: "  ", count: item.level + 1) + line)
            }
        }
        return lines.isEmpty ? "no sections" : lines.joined(separator: "\n")
    }

    private static func line(_ id: ElementID, _ content: [UInt8]?, kind: String? = nil, isExpanded: Bool) -> String {
        let parts = [id.text, kind.map { "(\($0))" }, content.map(line), isExpanded ? nil : "collapsed"]
        return parts.compactMap(\.self).joined(separator: " ")
    }

    private static func line(_ content: [UInt8]) -> String {
        var writer = JSONWriter()
        writer.append(canonical: JSONText(accepted: content).slice)
        return String(decoding: writer.bytes(), as: UTF8.self)
    }
}
