import DiffSessions
import SnapshotKit

/// A file of lists: sessions, by name or pattern, whose states come from an upstream, or whose edits it decides on.
package struct ListsFile: Sendable {
    package let lists: [ListDefinition]
    private let exact: [String: ListDefinition]
    private let patterns: [ListDefinition]
    /// The number of lists with a source.
    let sourceCount: Int
    package let secretFiles: [String]

    package static let maxBytes = 1 << 20

    /// - Parameter secret: looks up what a value `env:NAME` or `file:PATH` names; nil if that is not there, or empty.
    package init(json: [UInt8], secret: @escaping (SecretSource) -> String?) throws(ListsFileError) {
        var reader = ListsFileParser(secret: secret)
        lists = try reader.read(json)
        secretFiles = reader.secretFiles
        patterns = lists.filter { !$0.name.isExact }
        sourceCount = lists.count(where: \.hasSource)
        exact = Dictionary(uniqueKeysWithValues: lists.filter(\.name.isExact).map { ($0.name.text, $0) })
    }

    /// The list that a session belongs to: the one with its name, or else the first with a matching pattern.
    package func list(of session: String) -> ListMatch? {
        if let list = exact[session] { return ListMatch(definition: list, segments: [:]) }
        return patterns.lazy.compactMap { list in
            list.name.match(session).map { ListMatch(definition: list, segments: $0) }
        }.first
    }
}

/// Where a secret is that a file of lists only names.
package enum SecretSource {
    case variable(String), file(String)
}

/// The list that a session belongs to, and what the segments of its URLs stand for.
package struct ListMatch: Sendable {
    package let definition: ListDefinition
    let segments: [String: String]

    package func url(of feed: ListDefinition.Feed) -> String { feed.source.url.url(segments) }

    /// Of where a feed's documents come from and how they are read: in these, the nodes' files must agree.
    func sourceHash(of feed: ListDefinition.Feed, by hash: KeyedHash) -> UInt64 {
        var writer = JSONWriter()
        writer.append(string: url(of: feed))
        for pointer in definition.settings.ignored ?? [] { writer.append(string: pointer.description) }
        (feed.shape ?? definition.settings.shape)?.write(into: &writer)
        writer.append(string: definition.guessesShape ? "guess" : "")
        if let section = feed.section {
            writer.append(string: feed.scopesIDs ? "\(section.id)/" : section.id)
            section.content?.withBytes { writer.append($0) }
        }
        writer.append(string: definition.settings.keepsExpanded == true ? "expanded" : "")
        return writer.bytes().withUnsafeBytes { hash.digest(of: $0) }
    }
}

// MARK: - Lists

/// The file's entry for one list, or for all whose names match a pattern. A class, since all of its sessions share it.
package final class ListDefinition: Sendable {
    /// The names of its sessions. The pattern's text is the list's name in the log and in metrics.
    package let name: NamePattern
    package let settings: Session.SettingsChange
    /// What is fetched: the whole state, or each section by itself, in the list's order. Empty if states are posted.
    package let feeds: [Feed]
    /// The shapes of sections that have one, by the sections' ids.
    let sectionShapes: SectionShapes
    package let guessesShape: Bool
    /// Nil if edits need no consent.
    let hook: Hook?

    init(name: NamePattern, settings: Session.SettingsChange, feeds: [Feed], guessesShape: Bool = false, hook: Hook?) {
        (self.name, self.settings, self.feeds, self.hook) = (name, settings, feeds, hook)
        self.guessesShape = guessesShape
        sectionShapes = SectionShapes(feeds.compactMap(\.shapeOfElements)) { first, _ in first }
    }

    /// The most sections with a source each.
    static let maxSections = 100

    package var hasSource: Bool { !feeds.isEmpty }

    package func feed(of section: String?) -> Feed? {
        feeds.first { $0.section.map { Array($0.id.utf8) } == section.map { Array($0.utf8) } }
    }

    /// The sections, if each is fetched by itself.
    var outlines: [SectionOutline]? {
        let outlines = feeds.compactMap(\.section)
        return outlines.isEmpty ? nil : outlines
    }

    /// A source, and what it is the source of.
    package struct Feed: Sendable, Equatable {
        /// Nil for the whole state.
        package let section: SectionOutline?
        package let source: Source
        /// How the section's documents are read; nil for native ones.
        package var shape: StateShape?
        /// Whether the ids of the section's items are unique within it only.
        var scopesIDs = false

        /// A section and the shape of its elements, which says the scope of their ids; nil without one.
        fileprivate var shapeOfElements: (section: [UInt8], shape: StateShape)? {
            guard let section, var mapping = shape?.mapping else { return nil }
            // Ids that are made are unique in the whole state.
            mapping.element.scopesIDs = scopesIDs && !mapping.element.continuesHead
            return (Array(section.id.utf8), StateShape(mapping))
        }

        /// The section is the only one of the state.
        package func state(
            in document: inout StateDocument, _ settings: Session.Settings, _ limits: StateLimits
        ) throws(StateError) -> Snapshot {
            guard let section else { return try document.state(settings.shape ?? .native, limits: limits).snapshot }
            let reading = try document.section(section.id, shape ?? .native, scopesIDs: scopesIDs, limits: limits)
            return try Snapshot.empty.replacing(reading, limits: limits).snapshot
        }

        func rules(_ settings: Session.Settings, _ limits: StateLimits) -> PostedBody.Rules {
            PostedBody.Rules(
                shape: (section == nil ? settings.shape : shape) ?? .native, limits: limits, defaults: settings,
                section: section.map { PostedBody.SectionTarget(id: $0.id, scopesIDs: scopesIDs) })
        }
    }

    /// Where states come from.
    package struct Source: Sendable, Equatable {
        let url: URLTemplate
        /// The interval between fetches. Default 5 s.
        let every: Duration
        /// The time limit of a fetch. Default 10 s.
        let timeout: Duration
        let headers: [RequestHeader]
    }

    /// The upstream that decides on edits.
    struct Hook: Sendable, Equatable {
        let url: URLTemplate
        /// The time limit of a call. Default 2 s.
        let timeout: Duration
        let secret: WebhookSecret
    }
}

extension ListDefinition: Equatable {
    /// Compares by value, so that a reload leaves unchanged lists alone.
    package static func == (one: ListDefinition, other: ListDefinition) -> Bool {
        one.name == other.name && one.settings == other.settings && one.feeds == other.feeds
            && one.guessesShape == other.guessesShape && one.hook == other.hook
    }
}

// MARK: - Headers

/// A header field of a request to an upstream. The value may be a secret, so it is never printed.
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
    /// RFC 9110 §5.6.2.
    static func isName(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                byte != UInt8(ascii: ":") && SessionName.isOfName(byte) || "!#$%&'*+^`|".utf8.contains(byte)
            }
    }

    /// Whether a text arrives as it was sent: not empty, no blanks around it, no control characters.
    static func isValue(_ text: String) -> Bool {
        guard let first = text.utf8.first, let last = text.utf8.last else { return false }
        return first != UInt8(ascii: " ") && last != UInt8(ascii: " ")
            && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }

    /// The server itself sets framing, connection and conditions (RFC 9110, RFC 9112).
    static let reserved: Set<String> = [
        "accept-encoding", "connection", "content-encoding", "content-length", "expect", "host", "http2-settings",
        "if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "keep-alive",
        "proxy-connection", "range", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    /// Whether a field of this name probably holds credentials, which do not belong in a file.
    static func isSecret(_ name: String) -> Bool {
        let name = name.lowercased()
        return secretWords.contains { name.contains($0) }
    }

    fileprivate static let secretWords = [
        "auth", "cookie", "credential", "key", "passw", "secret", "session", "signature", "token",
    ]
}

// MARK: - Errors

/// All faults in a file of lists, in the file's order.
package struct ListsFileError: Error, Equatable {
    struct Fault: Equatable {
        let position: TextPosition
        /// Contains names and rules, but never a value, which may be a secret.
        let message: String
    }

    /// From 1 to `maxFaults` faults.
    let faults: [Fault]

    /// Faults beyond this are dropped.
    static let maxFaults = 1_000

    /// - Parameter found: byte offsets and messages, in any order; at least one.
    init(_ found: [(offset: Int, message: String)], in text: [UInt8]) {
        precondition(!found.isEmpty, "there is no fault to report")
        let inOrder = found.enumerated().sorted { ($0.element.offset, $0.offset) < ($1.element.offset, $1.offset) }
        var (position, at) = (TextPosition(), 0)
        faults = inOrder.prefix(Self.maxFaults).map { fault in
            let end = max(at, min(fault.element.offset, text.count))
            position.advance(over: text[at..<end])
            at = end
            return Fault(position: position, message: Self.printable(fault.element.message))
        }
    }

    package var messages: [String] { faults.map(\.message) }

    /// A line for each fault, as compilers write them: `FILE:LINE:COLUMN: message`.
    package func text(of path: String) -> String {
        faults.map { "\(path):\($0.position.line):\($0.position.column): \($0.message)" }.joined(separator: "\n")
    }

    /// The text in one line of bounded length, since names come from the file.
    private static func printable(_ text: String) -> String {
        let scalars = text.unicodeScalars.prefix(400).map { $0.isInvisible ? "\u{FFFD}" : $0 }
        return String(String.UnicodeScalarView(scalars)) + (scalars.count < text.unicodeScalars.count ? "…" : "")
    }
}
