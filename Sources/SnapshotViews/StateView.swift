// What is shown of a state. A view picks items, orders them and cuts their contents; a window takes some rows. Either
// makes a state again, by a pure function of the state, and `ViewedState` advances the result over a commit.
//
// The types by which an app asks for a window are in SnapshotKit, so that it need not build this.

import SnapshotKit

/// What a reader shows of a state: some sections, the items that pass tests, in another order, up to a limit, and some
/// members of their contents. The result is again a state, made by `Snapshot.applying(_:)`.
///
/// ```swift
/// let view = try StateView(
///     json: #"{"where":[{"at":"/content/done","is":false}],"order":[{"at":"/content/due"}],"limit":20}"#)
/// let shown = list.applying(view)
/// ```
///
/// Two views are equal when their `json` is, however they are written: white space, the order of members and tests,
/// defaults and the spelling of numbers do not matter. Two phrased differently may mean the same.
public struct StateView: Sendable, Hashable {
    /// The view in canonical form: members in one order, no white space, defaults left out.
    public let json: [UInt8]
    /// A class, since views are passed around a lot: a copy retains one reference.
    private let box: Boxed<Parts>

    /// The parts of a view; nil or empty where it leaves things as they are.
    struct Parts: Sendable {
        /// The texts of ids.
        var sections: Set<[UInt8]>?
        var tests = ItemTests()
        var orders: [Order] = []
        var group: Group?
        var sectionOrders: [Order] = []
        var hidesEmptySections = false
        /// The texts of ids: of sections as the view has them, and of items.
        var collapsed = (sections: Set<[UInt8]>(), items: Set<[UInt8]>())
        var limit: Int?
        /// Which members of contents are shown.
        var kept = KeptMembers()
    }

    /// How to make sections of items.
    struct Group: Sendable {
        let place: ItemPointer
        /// How many leading Unicode scalars of the value are the section's id; nil for all.
        let prefix: Int?

        /// Calls `body` with the group of an item. An id's is its text, even if that is a number.
        func of<Result>(_ item: Int, in columns: ColumnsView, _ body: (GroupValue) -> Result) -> Result {
            GroupValue.of(columns.value(ofItem: item, at: place), prefix: place == .id ? prefix ?? .max : prefix, body)
        }
    }

    /// The order of siblings, or of sections.
    struct Order: Sendable {
        let place: ItemPointer
        let isDescending: Bool
    }

    var parts: Parts { box.value }

    init(_ parts: Parts, json: [UInt8]) { (box, self.json) = (Boxed(parts), json) }

    /// The view that shows everything.
    public static let all = StateView(Parts(), json: Array("{}".utf8))

    /// The view in the form that `init(json:hidesContents:)` reads when it hides contents.
    public var jsonHidingContents: [UInt8] {
        var members = JSONWriter()
        members.append(Array(json.dropLast()))
        for (name, places) in [("sectionFields", parts.kept.sections), ("listFields", parts.kept.list)]
        where places == nil {
            members.separate()
            members.append(string: name)
            members.append(":[\"/content\"]")
        }
        members.append("}")
        return members.bytes()
    }

    /// Whether it shows everything, unchanged.
    public var isAll: Bool { json.count == 2 }

    /// An upper bound of its memory in bytes. O(its text).
    public var footprint: Int { 2 * json.count + 96 * json.count { $0 == UInt8(ascii: ",") } + parts.tests.footprint }

    /// Whether it cuts contents.
    public var cutsContents: Bool { !parts.kept.areAll }

    /// Those of some places in items' contents that are at, above or below something that it shows.
    public func shown(of places: [JSONPointer]) -> [JSONPointer] {
        guard let kept = parts.kept.items?.pointers else { return places }
        return places.filter { place in kept.contains { zip($0.tokens, place.tokens).allSatisfy(==) } }
    }

    /// How often viewing a whole state reads each content: once for each place that it tests, orders or cuts.
    public var scanCount: Int {
        parts.tests.scanCount + parts.orders.count + (parts.group == nil ? 0 : 1)
            + [parts.kept.items, parts.kept.sections, parts.kept.list].count { $0 != nil }
    }

    /// The largest number of tests, including `any` and those inside it.
    public static let maxTests = 16
    /// The largest number of orders of items, and of orders of sections.
    public static let maxOrders = 4
    /// The largest number of ids that are collapsed.
    public static let maxCollapsed = 1_000
    /// The largest number of pointers in each of `fields`, `sectionFields` and `listFields`.
    public static let maxFields = 64

    /// Whether both have the same canonical form.
    public static func == (one: StateView, other: StateView) -> Bool { one.box === other.box || one.json == other.json }

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
    /// It shares ids, kinds and whole contents with this state. O(n), O(n log n) with orders, O(1) if it shows
    /// everything.
    public func applying(_ view: StateView) -> Snapshot { view.isAll ? self : ViewedState(view, of: self).snapshot }
}

extension Marks {
    /// The marks that may be on what is seen through some views: sections made by a view have none, whatever their ids.
    public func seen(through views: [StateView]) -> Marks {
        guard !isEmpty, views.contains(where: { $0.parts.group != nil }) else { return self }
        return filter(items: { _ in true }, sections: { _ in false })
    }
}
