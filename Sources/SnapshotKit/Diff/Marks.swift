/// Rows and sections to redraw though nothing changed. Not part of a state.
public struct Marks: Sendable, Equatable {
    /// How to redraw.
    public enum Redraw: String, Sendable {
        /// The same cell, configured anew.
        case reconfigure
        /// A new cell.
        case reload
    }

    private struct Content: Sendable, Equatable {
        var items: [[UInt8]: Redraw] = [:]
        var sections: [[UInt8]: Redraw] = [:]
        var isReload = false
    }

    private indirect enum Storage: Sendable, Equatable { case some(Content) }

    /// Nil if there are no marks: most revisions have none, and are kept long.
    private var storage: Storage?

    private var content: Content {
        get { if case .some(let content)? = storage { content } else { Content() } }
        _modify {
            var content = content
            // The dictionaries are not shared while they change.
            storage = nil
            defer { if content != Content() { storage = .some(content) } }
            yield &content
        }
    }

    /// By the id's text as UTF-8; of several marks for one id, the strongest counts.
    var items: [[UInt8]: Redraw] { content.items }
    var sections: [[UInt8]: Redraw] { content.sections }

    /// Whether to redraw the whole list at once, without showing its changes.
    public var isReload: Bool { content.isReload }

    /// No marks.
    public static let none = Marks()
    /// Redraw everything at once.
    public static let reload = Marks(isReload: true)

    private init(isReload: Bool = false) { content.isReload = isReload }

    /// Whether there are no marks.
    public var isEmpty: Bool { storage == nil }

    /// The number of marks.
    public var count: Int { items.count + sections.count }

    /// Memory held, in bytes. O(marks).
    public var footprint: Int { isEmpty ? 0 : Self.footprint(items) + Self.footprint(sections) }

    /// A hash table at most three quarters full, and an array for each id.
    private static func footprint(_ marks: [[UInt8]: Redraw]) -> Int {
        marks.capacity * 4 / 3 * (MemoryLayout<[UInt8]>.stride + MemoryLayout<Redraw>.stride)
            + marks.keys.reduce(0) { $0 + 48 + $1.count }
    }

    package mutating func mark(item id: [UInt8], _ redraw: Redraw) {
        content.items.merge([id: redraw], uniquingKeysWith: Self.stronger)
    }

    package mutating func mark(section id: [UInt8], _ redraw: Redraw) {
        content.sections.merge([id: redraw], uniquingKeysWith: Self.stronger)
    }

    /// Adds the marks of a later revision.
    public mutating func formUnion(_ other: Marks) {
        if other.isEmpty { return }
        if other.isReload { content.isReload = true }
        content.items.merge(other.items, uniquingKeysWith: Self.stronger)
        content.sections.merge(other.sections, uniquingKeysWith: Self.stronger)
    }

    /// The marks whose ids' texts pass.
    package func filter(
        items passes: (UnsafeRawBufferPointer) -> Bool, sections passesSection: (UnsafeRawBufferPointer) -> Bool
    ) -> Marks {
        var marks = self
        marks.content.items = items.filter { $0.key.withUnsafeBytes(passes) }
        marks.content.sections = sections.filter { $0.key.withUnsafeBytes(passesSection) }
        return marks
    }

    /// Writes the marks as `{"items":{id:how},"sections":{id:how}}`, perhaps with `"list":"reload"` in front.
    public func write(into writer: inout JSONWriter) {
        writer.append(isReload ? "{\"list\":\"reload\"," : "{")
        for (name, marks, end) in [("\"items\":{", items, "}"), (",\"sections\":{", sections, "}}")] {
            writer.append(verbatim: name)
            for (id, redraw) in marks {
                writer.separate()
                writer.append(string: id)
                writer.append(redraw == .reload ? ":\"reload\"" : ":\"reconfigure\"")
            }
            writer.append(verbatim: end)
        }
    }

    /// Reads what `write` wrote; nil for anything else.
    public init?(_ value: JSONSlice) {
        guard let groups = value.members else { return nil }
        if let list = groups["list"] {
            guard list.string == "reload" else { return nil }
            content.isReload = true
        }
        for (name, path) in [("items", \Content.items), ("sections", \Content.sections)] {
            // A dictionary by names would merge ids that are only canonically equivalent.
            guard let marks = groups[name]?.orderedMembers else { return nil }
            for mark in marks {
                guard let redraw = mark.value.string.flatMap(Redraw.init) else { return nil }
                content[keyPath: path][Array(mark.name.utf8)] = redraw
            }
        }
    }

    private static func stronger(_ one: Redraw, _ other: Redraw) -> Redraw {
        one == .reload || other == .reload ? .reload : .reconfigure
    }
}
