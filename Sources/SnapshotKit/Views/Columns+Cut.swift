extension Columns {
    /// The same state with those members of its contents only that a view shows. O(items + bytes).
    func cut(by parts: StateView.Parts) -> Columns {
        compacted { owner, content, writer in
            let cut =
                switch owner {
                case .list: parts.listFields
                case .section: parts.sectionFields
                case .item: parts.fields
                }
            guard let cut else {
                writer.append(content)
                return true
            }
            return cut.append(content, to: &writer)
        }
    }
}
