import SnapshotKit

/// What a file of lists says: sessions by name, or by a pattern of names, whose states come from upstream, or whose
/// edits are asked about there.
struct ListsFile: Sendable {
    /// In the file's order.
    let lists: [ListDefinition]
    /// Those of one name.
    private let exact: [String: ListDefinition]
    /// The others, in the file's order.
    private let patterns: [ListDefinition]

    /// Bytes of a file.
    static let maxBytes = 1 << 20

    /// Reads a file.
    ///
    /// - Parameter environment: what variables hold, for values that say `env:NAME`.
    /// - Throws: all that is wrong with it.
    init(json: [UInt8], environment: @escaping (String) -> String?) throws(ListsFileError) {
        var reader = ListsFileReader(environment: environment)
        lists = try reader.read(json)
        patterns = lists.filter { !$0.name.isExact }
        exact = Dictionary(uniqueKeysWithValues: lists.filter(\.name.isExact).map { ($0.name.text, $0) })
    }

    /// The list that a session is of: one of that name, else the first whose pattern matches; nil if there is none.
    func list(of session: String) -> ListMatch? {
        if let list = exact[session] { return ListMatch(list, [:]) }
        for list in patterns {
            if let segments = list.name.match(session) { return ListMatch(list, segments) }
        }
        return nil
    }
}

/// A list that a session is of, with the session's segments filled in.
struct ListMatch: Sendable {
    let definition: ListDefinition
    /// Where the session's state comes from.
    let sourceURL: String?
    /// Who is asked about its edits.
    let hookURL: String?

    /// - Parameter segments: what the name's segments stand for.
    init(_ definition: ListDefinition, _ segments: [String: String]) {
        self.definition = definition
        sourceURL = definition.source?.url.url(segments)
        hookURL = definition.hook?.url.url(segments)
    }

    /// Where the state comes from and how it is read, hashed: what a source says is of no use to a node whose file says
    /// something else.
    func origin(by hash: KeyedHash) -> UInt64 {
        var writer = JSONWriter()
        writer.append(string: sourceURL ?? "")
        for pointer in definition.settings.ignored ?? [] { writer.append(string: pointer.description) }
        definition.settings.shape?.write(into: &writer)
        writer.append(string: definition.settings.keepsExpanded == true ? "expanded" : "")
        return writer.bytes().withUnsafeBytes { hash.digest(of: $0) }
    }
}
