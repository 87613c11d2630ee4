/// An edit of a list's items, or with `sections(_:)` of its sections: a mutator of Apple's snapshots as a value.
///
/// It encodes to the JSON that `EditBatch` reads, and is not checked before. Contents are any `Encodable`; a `JSONText`
/// is taken as it is. In DiffClient the client's `encoder` writes them, and what the server refuses, it answers with a
/// `ServerProblem` whose `errors` point into the edits.
///
/// ```swift
/// try list.applying(.move("a", before: "b"), .add("a", "/likes", 1))
/// try await client.edit(.insert(NewElement("c", Fire(name: "Sheep Fire")), into: .section("open"), at: .start))
/// try await client.edit(.sections(.patch("open", ["title": "Burning"])))
/// ```
public struct ListEdit: Encodable, Sendable {
    /// An end of a list.
    public enum End: String, Encodable, Sendable { case start, end }

    /// The parent to put items into, by its id.
    public enum Parent: Sendable { case section(any ElementIDConvertible), item(any ElementIDConvertible) }

    private typealias Members = [String: AnyJSON]

    private let members: Members

    private init(
        _ operation: String, _ operands: (any Encodable & Sendable)?, as member: String = "items",
        _ destination: Members = [:]
    ) { members = Members(["op": operation, member: operands]).merging(destination) { $1 } }

    private static func beside(_ side: String, _ siblings: (any ListIDs)?) -> Members {
        let ids = siblings?.elementIDs ?? [nil]
        return [side: ids.count == 1 ? AnyJSON(ids[0]) : AnyJSON(ids)]
    }

    private static func into(_ parent: Parent?, _ end: End) -> Members {
        let into: [String: ElementID]? =
            switch parent {
            case .section(let id): ["section": id.elementID]
            case .item(let id): ["item": id.elementID]
            case nil: nil
            }
        return Members(["into": into, "at": end])
    }

    /// The same edit of sections, by their ids. Sections have no parent and no kind.
    public static func sections(_ edit: ListEdit) -> ListEdit {
        var members = edit.members
        if let items = members.removeValue(forKey: "items") { members["sections"] = items }
        return ListEdit(members: members)
    }

    private init(members: Members) { self.members = members }

    /// Writes an object whose names no key strategy changes.
    public func encode(to encoder: any Encoder) throws { try AnyJSON(members).encode(to: encoder) }

    // MARK: Structure

    /// Inserts before a sibling; with nil, at the end of the last section. Of several siblings, the first that exists
    /// counts.
    ///
    /// An element is a `NewElement`, or a value that encodes to an object with `id` and `content`, or to an id. Pass
    /// several in an array, or as one in JSON.
    public static func insert(_ elements: any Encodable & Sendable, before siblings: (any ListIDs)?) -> ListEdit {
        ListEdit("insert", NewElements(value: elements), beside("before", siblings))
    }

    /// Inserts after a sibling; with nil, at the start of the first section.
    public static func insert(_ elements: any Encodable & Sendable, after siblings: (any ListIDs)?) -> ListEdit {
        ListEdit("insert", NewElements(value: elements), beside("after", siblings))
    }

    /// Inserts at the start or the end of a parent, by default of the first or the last section.
    public static func insert(
        _ elements: any Encodable & Sendable, into parent: Parent? = nil, at end: End = .end
    ) -> ListEdit { ListEdit("insert", NewElements(value: elements), into(parent, end)) }

    /// Inserts elements of a document, which the list's shape reads, before a sibling.
    ///
    /// - Parameter elements: encode to an array; for a shape with `map`, to an object.
    public static func insert(elements: any Encodable & Sendable, before siblings: (any ListIDs)?) -> ListEdit {
        ListEdit("insert", elements, as: "elements", beside("before", siblings))
    }

    /// Inserts elements of a document, which the list's shape reads, after a sibling.
    public static func insert(elements: any Encodable & Sendable, after siblings: (any ListIDs)?) -> ListEdit {
        ListEdit("insert", elements, as: "elements", beside("after", siblings))
    }

    /// Inserts elements of a document, which the list's shape reads, into a parent; without one and at the end, into
    /// the sections of their groups.
    public static func insert(
        elements: any Encodable & Sendable, into parent: Parent? = nil, at end: End = .end
    ) -> ListEdit { ListEdit("insert", elements, as: "elements", into(parent, end)) }

    /// Moves before a sibling; with nil, to the end of the last section. Of several siblings, such as all that followed
    /// and nil, the first that exists counts. Moved elements keep the order given.
    public static func move(_ ids: any ListIDs, before siblings: (any ListIDs)?) -> ListEdit {
        ListEdit("move", ids.elementIDs, beside("before", siblings))
    }

    /// Moves after a sibling; with nil, to the start of the first section.
    public static func move(_ ids: any ListIDs, after siblings: (any ListIDs)?) -> ListEdit {
        ListEdit("move", ids.elementIDs, beside("after", siblings))
    }

    /// Moves to the start or the end of a parent, by default of the first or the last section.
    public static func move(_ ids: any ListIDs, into parent: Parent? = nil, at end: End = .end) -> ListEdit {
        ListEdit("move", ids.elementIDs, into(parent, end))
    }

    /// Removes elements with all their children, and ignores those already gone.
    public static func remove(_ ids: any ListIDs) -> ListEdit { ListEdit("delete", ids.elementIDs) }

    /// Removes all children.
    public static func clear(_ ids: any ListIDs) -> ListEdit { ListEdit("clear", ids.elementIDs) }

    /// Removes all items; the sections stay.
    public static func clear() -> ListEdit { ListEdit("clear", nil) }

    // MARK: Appearance

    private static func update(
        _ id: any ElementIDConvertible, _ member: String, _ value: any Encodable & Sendable
    ) -> ListEdit { ListEdit("update", [Members(["id": id.elementID, member: value])]) }

    /// Replaces the content.
    public static func update(_ id: any ElementIDConvertible, _ content: some Encodable & Sendable) -> ListEdit {
        update(id, "content", content)
    }

    /// Changes the type of cell.
    public static func update(_ id: any ElementIDConvertible, kind: String) -> ListEdit { update(id, "kind", kind) }

    /// Merges a patch (RFC 7396) into the content when the server applies the edit, so that others' changes stay. Nil
    /// members are removed.
    public static func patch(
        _ id: any ElementIDConvertible, _ members: [String: (any Encodable & Sendable)?]
    ) -> ListEdit { update(id, "patch", members.mapValues(AnyJSON.init)) }

    /// Merges a patch that encodes to an object. `Codable` leaves out nil members, so these stay.
    public static func patch(_ id: any ElementIDConvertible, _ patch: some Encodable & Sendable) -> ListEdit {
        update(id, "patch", patch)
    }

    /// Adds to a number in the content when the server applies the edit, so that every like counts; a missing one is 0.
    ///
    /// The pointer is a JSON Pointer (RFC 6901) to the number, such as `/likes`.
    public static func add(
        _ id: any ElementIDConvertible, _ pointer: String, _ amount: some Numeric & Encodable & Sendable
    ) -> ListEdit { update(id, "add", [pointer: AnyJSON(amount)]) }

    /// Puts a text behind a string in the content when the server applies the edit; a missing one is empty.
    ///
    /// The pointer is a JSON Pointer (RFC 6901) to the string, such as `/text`.
    public static func append(_ id: any ElementIDConvertible, _ pointer: String, _ text: String) -> ListEdit {
        update(id, "append", [pointer: text])
    }

    /// Shows the children.
    public static func expand(_ ids: any ListIDs) -> ListEdit { ListEdit("expand", ids.elementIDs) }

    /// Hides the children.
    public static func collapse(_ ids: any ListIDs) -> ListEdit { ListEdit("collapse", ids.elementIDs) }

    /// Makes every reader replace the cells, though nothing has changed.
    public static func reload(_ ids: any ListIDs) -> ListEdit { ListEdit("reload", ids.elementIDs) }

    /// Makes every reader fill the cells again, though nothing has changed.
    public static func reconfigure(_ ids: any ListIDs) -> ListEdit { ListEdit("reconfigure", ids.elementIDs) }
}

/// An item or a section to insert or to post.
///
/// ```swift
/// try await client.post([NewElement("4a03", Fire(name: "Platina Fire", acres: 10))])
/// ```
public struct NewElement: Encodable, Sendable {
    private let members: [String: AnyJSON]

    /// An element with an id.
    ///
    /// - Parameters:
    ///   - id: an id of any kind.
    ///   - content: a value that encodes to the content.
    ///   - kind: an item's type of cell.
    ///   - isExpanded: whether its items are rows; by default they are.
    ///   - items: the items of a section, or the children of an item.
    public init(
        _ id: any ElementIDConvertible, _ content: (any Encodable & Sendable)? = nil, kind: String? = nil,
        isExpanded: Bool? = nil, items: [NewElement]? = nil
    ) {
        members = [String: AnyJSON]([
            "id": id.elementID, "content": content, "kind": kind, "expanded": isExpanded, "items": items,
        ])
    }

    /// Writes an object whose names no key strategy changes.
    public func encode(to encoder: any Encoder) throws { try AnyJSON(members).encode(to: encoder) }
}

/// A value of any type; nil is null.
package struct AnyJSON: Encodable, Sendable {
    private let value: (any Encodable & Sendable)?

    package init(_ value: (any Encodable & Sendable)?) { self.value = value }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        // Through the container, since the encoder has strategies for dates and the like.
        if let value { try container.encode(value) } else { try container.encodeNil() }
    }
}

extension [String: AnyJSON] {
    /// Members of an object, without those that are nil. An encoder leaves a dictionary's names as they are.
    package init(_ members: [String: (any Encodable & Sendable)?]) {
        self = members.compactMapValues { $0.map(AnyJSON.init) }
    }
}

/// The elements of an array, or one element.
private struct NewElements: Encodable, Sendable {
    let value: any Encodable & Sendable

    func encode(to encoder: any Encoder) throws {
        if let text = value as? JSONText, text.slice.elements != nil { return try AnyJSON(text).encode(to: encoder) }
        var container = encoder.unkeyedContainer()
        for element in value as? [any Encodable] ?? [value] {
            // Written like any other id: a UUID in lowercase. A section is no bare id.
            let id = (element as? any ElementIDConvertible)?.elementID
            if let id { try container.encode(["id": id]) } else { try container.encode(element) }
        }
    }
}
