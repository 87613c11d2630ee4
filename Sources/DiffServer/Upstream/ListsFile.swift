import DiffSessions
import SnapshotKit

/// A file of lists: sessions, by name or pattern, whose states come from upstream, or whose edits are decided there.
package struct ListsFile: Sendable {
    /// In the file's order.
    package let lists: [ListDefinition]
    /// Lists with one session, by its name.
    private let exact: [String: ListDefinition]
    /// The others, in the file's order.
    private let patterns: [ListDefinition]
    /// How many lists have a source.
    let sourceCount: Int

    /// The longest file, in bytes.
    package static let maxBytes = 1 << 20

    /// - Parameter environment: looks up the variable of a value `env:NAME`.
    /// - Throws: all faults of the file.
    package init(json: [UInt8], environment: @escaping (String) -> String?) throws(ListsFileError) {
        var reader = ListsFileParser(environment: environment)
        lists = try reader.read(json)
        patterns = lists.filter { !$0.name.isExact }
        sourceCount = lists.count { $0.source != nil }
        exact = Dictionary(uniqueKeysWithValues: lists.filter(\.name.isExact).map { ($0.name.text, $0) })
    }

    /// The list that a session belongs to: the one of its name, or else the first whose pattern matches.
    package func list(of session: String) -> ListMatch? {
        if let list = exact[session] { return ListMatch(list, [:]) }
        return patterns.lazy.compactMap { list in list.name.match(session).map { ListMatch(list, $0) } }.first
    }
}

/// The list that a session belongs to, with the session's segments in its URLs.
package struct ListMatch: Sendable {
    package let definition: ListDefinition
    package let sourceURL: String?
    let hookURL: String?

    init(_ definition: ListDefinition, _ segments: [String: String]) {
        self.definition = definition
        sourceURL = definition.source?.url.url(segments)
        hookURL = definition.hook?.url.url(segments)
    }

    /// A hash of where the state comes from and how it is read: another node's fetch is of no use if its file differs
    /// in these.
    func origin(by hash: KeyedHash) -> UInt64 {
        var writer = JSONWriter()
        writer.append(string: sourceURL ?? "")
        for pointer in definition.settings.ignored ?? [] { writer.append(string: pointer.description) }
        definition.settings.shape?.write(into: &writer)
        writer.append(string: definition.settings.keepsExpanded == true ? "expanded" : "")
        return writer.bytes().withUnsafeBytes { hash.digest(of: $0) }
    }
}

// MARK: - Lists

/// What the file says of one list, or of all lists whose names match a pattern. A reference, since all of its sessions
/// share it.
package final class ListDefinition: Sendable {
    /// The names of its sessions. Its text is the list's name in the log and in metrics.
    package let name: NamePattern
    /// The settings, as PUT would set them.
    package let settings: Session.SettingsChange
    /// Nil if states are posted.
    package let source: Source?
    /// Nil if edits need nobody's consent.
    let hook: Hook?

    init(name: NamePattern, settings: Session.SettingsChange, source: Source?, hook: Hook?) {
        (self.name, self.settings, self.source, self.hook) = (name, settings, source, hook)
    }

    /// Where the state comes from.
    package struct Source: Sendable, Equatable {
        let url: URLTemplate
        /// The interval between fetches.
        var every = Duration.seconds(5)
        /// The limit of one fetch.
        var timeout = Duration.seconds(10)
        var headers: [RequestHeader] = []
    }

    /// Who decides about edits.
    struct Hook: Sendable, Equatable {
        let url: URLTemplate
        /// The limit of one call.
        var timeout = Duration.seconds(2)
        let secret: WebhookSecret
    }
}

extension ListDefinition: Equatable {
    /// By value: a reload leaves unchanged lists alone.
    package static func == (one: ListDefinition, other: ListDefinition) -> Bool {
        one.name == other.name && one.settings == other.settings && one.source == other.source
            && one.hook == other.hook
    }
}

// MARK: - Headers

/// A header field of a request to an upstream. Its value may be a secret, and is never printed.
package struct RequestHeader: Sendable, Equatable {
    let name: String
    let value: String
}

extension RequestHeader: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { name }
    package var debugDescription: String { name }
    package var customMirror: Mirror { Mirror(self, children: ["name": name]) }
}

extension RequestHeader {
    /// Whether a text is a token (RFC 9110 §5.6.2).
    static func isName(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                byte != UInt8(ascii: ":") && SessionName.isOfName(byte) || "!#$%&'*+^`|".utf8.contains(byte)
            }
    }

    /// Whether a text is received as it is sent: not empty, no blanks around it, no control characters.
    static func isValue(_ text: String) -> Bool {
        guard let first = text.utf8.first, let last = text.utf8.last else { return false }
        return first != UInt8(ascii: " ") && last != UInt8(ascii: " ")
            && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }

    /// Whether a field is the sender's own: framing, the connection, or conditions (RFC 9110, RFC 9112).
    static func isReserved(_ name: String) -> Bool { reserved.contains(name.lowercased()) }

    private static let reserved: Set<String> = [
        "accept-encoding", "connection", "content-encoding", "content-length", "expect", "host", "http2-settings",
        "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "keep-alive",
        "proxy-connection", "range", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    /// Whether a field of this name probably holds credentials, which do not belong in a file.
    static func isSecret(_ name: String) -> Bool {
        let name = name.lowercased()
        return secretWords.contains { name.contains($0) }
    }

    static let secretWords = [
        "auth", "cookie", "credential", "key", "passw", "secret", "session", "signature", "token",
    ]
}

// MARK: - Errors

/// All faults of a file of lists, in the file's order.
package struct ListsFileError: Error, Equatable {
    struct Fault: Equatable {
        let position: TextPosition
        /// Names and rules, but never a value, which may be a secret.
        let message: String
    }

    /// At least one, at most `maxFaults`.
    let faults: [Fault]

    /// Further faults are dropped.
    static let maxFaults = 1_000

    /// - Parameter places: offsets in bytes, in any order; at least one.
    init(_ places: [(offset: Int, message: String)], in text: [UInt8]) {
        precondition(!places.isEmpty, "there is no fault to report")
        let inOrder = places.enumerated().sorted { ($0.element.offset, $0.offset) < ($1.element.offset, $1.offset) }
        var (position, at) = (TextPosition(), 0)
        faults = inOrder.prefix(Self.maxFaults).map { place in
            let end = max(at, min(place.element.offset, text.count))
            position.advance(over: text[at..<end])
            at = end
            return Fault(position: position, message: Self.printable(place.element.message))
        }
    }

    /// The faults, without their places.
    package var messages: [String] { faults.map(\.message) }

    /// A line for each fault, as compilers write them: `FILE:LINE:COLUMN: message`.
    package func text(of path: String) -> String {
        faults.map { "\(path):\($0.position.line):\($0.position.column): \($0.message)" }.joined(separator: "\n")
    }

    /// One line of bounded length, since names come from the file.
    private static func printable(_ text: String) -> String {
        let scalars = text.unicodeScalars.prefix(400).map { $0.isInvisible ? "\u{FFFD}" : $0 }
        return String(String.UnicodeScalarView(scalars)) + (scalars.count < text.unicodeScalars.count ? "…" : "")
    }
}
