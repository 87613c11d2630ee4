/// What a reader shows of a state: some sections, the items that pass tests, in another order, up to a limit, and some
/// members of their contents. The result is again a state, made by `Snapshot.applying(_:)`.
///
/// ```swift
/// let view = try StateView(
///     json: #"{"where":[{"at":"/content/done","is":false}],"order":[{"at":"/content/due"}],"limit":20}"#)
/// let shown = list.applying(view)
/// ```
///
/// Two views are equal when their `json` is: one written differently (white space, member order, defaults, or fields
/// without effect) is equal; one that is phrased differently and means the same may not be.
public struct StateView: Sendable, Hashable {
    /// The view in canonical form: members in one order, no white space, defaults left out.
    public let json: [UInt8]
    /// A class, since views are passed around a lot: a copy retains one reference.
    private let box: Box

    private final class Box: Sendable {
        let parts: Parts

        init(_ parts: Parts) { self.parts = parts }
    }

    /// What a view is made of; nil or empty where it leaves things as they are.
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

    /// The view that shows everything.
    public static let all = StateView(Parts(), json: Array("{}".utf8))

    /// The view as `init(json:hidesContents:)` reads it where it hides contents: those of sections and of the list that
    /// are shown whole are named.
    public var jsonHidingContents: [UInt8] {
        var members = JSONWriter()
        members.append(Array(json.dropLast()))
        for (name, cut) in [("sectionFields", parts.sectionFields), ("listFields", parts.listFields)] where cut == nil {
            if members.count > 1 { members.append(",") }
            members.append(string: name)
            members.append(":[\"/content\"]")
        }
        members.append("}")
        return members.bytes()
    }

    /// Whether it shows everything, unchanged.
    public var isAll: Bool { json.count == 2 }

    /// Whether it cuts contents.
    public var cutsContents: Bool { parts.fields != nil || parts.sectionFields != nil || parts.listFields != nil }

    /// How often viewing a whole state reads each content: once per test, order and list of fields.
    public var passes: Int {
        parts.tests.count + parts.orders.count
            + [parts.fields, parts.sectionFields, parts.listFields].count { $0 != nil }
    }

    /// The largest number of tests.
    public static let maxTests = 16
    /// The largest number of orders.
    public static let maxOrders = 4
    /// The largest number of pointers in each of `fields`, `sectionFields` and `listFields`.
    public static let maxFields = 64

    /// Whether both have the same canonical form.
    public static func == (one: StateView, other: StateView) -> Bool {
        one.box === other.box || one.json == other.json
    }

    /// Hashes the canonical form.
    public func hash(into hasher: inout Hasher) { json.withUnsafeBytes { hasher.combine(bytes: $0) } }
}

/// Why a text is not a view.
public enum StateViewError: Error, Equatable, Sendable {
    /// The text is not JSON.
    case json(JSONError)
    /// Part of it is not understood.
    case invalid(Violation)
    /// More of something than a view may have. `what` is a phrase such as "tests".
    case limitExceeded(what: String, limit: Int, actual: Int, pointer: String)
}

extension Snapshot {
    /// What a view shows of the state, as a separate state.
    ///
    /// It shares ids and kinds with this state, and contents that the view does not cut. O(n), O(n log n) if the view
    /// orders items, O(1) if it shows everything.
    public func applying(_ view: StateView) -> Snapshot { view.isAll ? self : ViewedState(view, of: self).snapshot }
}
