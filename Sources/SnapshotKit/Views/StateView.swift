/// What a reader shows of a state: some sections, the items that pass tests, in another order, so many of them, and
/// some members of their contents. What it shows is a state again, made by `Snapshot.applying(_:)`.
///
/// ```swift
/// let view = try StateView(
///     json: #"{"where":[{"at":"/content/done","is":false}],"order":[{"at":"/content/due"}],"limit":20}"#)
/// let shown = list.applying(view)
/// ```
///
/// Two views are equal when their `json` is: a view that is written in another way, with white space, members in
/// another order, defaults, or fields that say nothing, is equal; one that is written otherwise and means the same may
/// not be.
public struct StateView: Sendable, Hashable {
    /// The view in canonical form: members in one order, no white space, defaults left out.
    public let json: [UInt8]
    /// One reference: a view goes through many hands.
    private let box: Box

    private final class Box: Sendable {
        let parts: Parts

        init(_ parts: Parts) { self.parts = parts }
    }

    /// What a view is made of; nil and nothing where it leaves all as it is.
    struct Parts: Sendable {
        /// The texts of ids.
        var sections: Set<[UInt8]>?
        /// All must hold.
        var tests: [ItemTest] = []
        var orders: [Order] = []
        var limit: Int?
        var fields: ContentCut?
        var sectionFields: ContentCut?
        var listFields: ContentCut?
    }

    /// What siblings are ordered by.
    struct Order: Sendable {
        let place: ItemPlace
        let isDescending: Bool
    }

    var parts: Parts { box.parts }

    init(_ parts: Parts, json: [UInt8]) { (box, self.json) = (Box(parts), json) }

    /// The view that shows all there is.
    public static let all = StateView(Parts(), json: Array("{}".utf8))

    /// Whether it shows all there is, as it is.
    public var isAll: Bool { json.count == 2 }

    /// Whether contents are cut.
    public var cutsContents: Bool { parts.fields != nil || parts.sectionFields != nil || parts.listFields != nil }

    /// How often a look at a whole state reads each content: once a test, an order and a list of fields.
    public var passes: Int {
        parts.tests.count + parts.orders.count
            + [parts.fields, parts.sectionFields, parts.listFields].count { $0 != nil }
    }

    /// Tests that a view may have.
    public static let maxTests = 16
    /// Orders that a view may have.
    public static let maxOrders = 4
    /// Pointers that each of `fields`, `sectionFields` and `listFields` may have.
    public static let maxFields = 64

    /// Whether both have the same canonical form.
    public static func == (one: StateView, other: StateView) -> Bool {
        one.box === other.box || one.json == other.json
    }

    /// Hashes the canonical form.
    public func hash(into hasher: inout Hasher) { json.withUnsafeBytes { hasher.combine(bytes: $0) } }
}

/// Why a text is no view.
public enum StateViewError: Error, Equatable, Sendable {
    /// The text is not JSON.
    case json(JSONError)
    /// Something of it is not understood.
    case invalid(Violation)
    /// There is more of something than a view may have. `what` is a phrase such as "tests".
    case limitExceeded(what: String, limit: Int, actual: Int, pointer: String)
}
