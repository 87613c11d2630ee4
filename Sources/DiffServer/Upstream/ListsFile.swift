import SnapshotKit

/// A file of lists: sessions, by name or pattern, whose states come from upstream, or whose edits are decided there.
struct ListsFile: Sendable {
    /// In the file's order.
    let lists: [ListDefinition]
    /// Lists of one name.
    private let exact: [String: ListDefinition]
    /// The others, in the file's order.
    private let patterns: [ListDefinition]
    /// How many lists have a source.
    let sourceCount: Int

    /// Length of a file, in bytes.
    static let maxBytes = 1 << 20

    /// - Parameter environment: looks up the variable of a value `env:NAME`.
    /// - Throws: all faults of the file.
    init(json: [UInt8], environment: @escaping (String) -> String?) throws(ListsFileError) {
        var reader = ListsFileReader(environment: environment)
        lists = try reader.read(json)
        patterns = lists.filter { !$0.name.isExact }
        sourceCount = lists.count { $0.source != nil }
        exact = Dictionary(uniqueKeysWithValues: lists.filter(\.name.isExact).map { ($0.name.text, $0) })
    }

    /// The list that a session belongs to: the one of its name, or else the first whose pattern matches.
    func list(of session: String) -> ListMatch? {
        if let list = exact[session] { return ListMatch(list, [:]) }
        return patterns.lazy.compactMap { list in list.name.match(session).map { ListMatch(list, $0) } }.first
    }
}

/// The list that a session belongs to, with the session's segments in its URLs.
struct ListMatch: Sendable {
    let definition: ListDefinition
    let sourceURL: String?
    let hookURL: String?

    init(_ definition: ListDefinition, _ segments: [String: String]) {
        self.definition = definition
        sourceURL = definition.source?.url.url(segments)
        hookURL = definition.hook?.url.url(segments)
    }

    /// A hash of where the state comes from and how it is read: what another node has fetched is of no use if its file
    /// differs in that.
    func origin(by hash: KeyedHash) -> UInt64 {
        var writer = JSONWriter()
        writer.append(string: sourceURL ?? "")
        for pointer in definition.settings.ignored ?? [] { writer.append(string: pointer.description) }
        definition.settings.shape?.write(into: &writer)
        writer.append(string: definition.settings.keepsExpanded == true ? "expanded" : "")
        return writer.bytes().withUnsafeBytes { hash.digest(of: $0) }
    }
}
