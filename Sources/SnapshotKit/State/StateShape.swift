/// Where a state is in a JSON document.
public struct StateShape: Sendable, Equatable {
    /// One reference, since shapes are copied often and most are native.
    private let box: Box?

    private final class Box: Sendable {
        let places: Places

        init(_ places: Places) { self.places = places }
    }

    /// Pointers into a document of any shape; nil for the library's own.
    public var places: Places? { box?.places }

    /// The library's own shape: an object with `sections`, an object with `items`, or an array of items.
    public static let native = StateShape()

    private init() { box = nil }

    /// Any JSON document, with the list at these places: each whole element is an item's content.
    public init(_ places: Places) {
        var places = places
        // A place that is omitted equals its default.
        places.itemsAt = places.items
        if places.sectionsAt == nil { places.sectionIDAt = .id }
        box = Box(places)
    }

    /// Whether both have the same places.
    public static func == (one: StateShape, other: StateShape) -> Bool {
        one.box === other.box || one.places == other.places
    }

    /// Whether an element is read the same way in both.
    func hasElements(of other: StateShape) -> Bool {
        box === other.box || places?.element == other.places?.element
    }

    /// Any JSON document: each whole element is an item's content.
    ///
    /// - Parameters:
    ///   - sectionsAt: the array of sections; nil for one section with the id `main` and no content.
    ///   - sectionIDAt: a section's id, from its element. Default `/id`.
    ///   - itemsAt: the array of items, from a section's element (default `/items`), or from the document (default the
    ///     root).
    ///   - idAt: an item's id, from its element. Default `/id`.
    public static func pointers(
        sectionsAt: JSONPointer? = nil, sectionIDAt: JSONPointer? = nil, itemsAt: JSONPointer? = nil,
        idAt: JSONPointer? = nil
    ) -> StateShape {
        var places = Places()
        (places.sectionsAt, places.itemsAt) = (sectionsAt, itemsAt)
        if let sectionIDAt { places.sectionIDAt = sectionIDAt }
        if let idAt { places.element.idAt = [idAt] }
        return StateShape(places)
    }
}

extension StateShape {
    /// Where the list is in a document, and how its elements become items.
    public struct Places: Sendable, Equatable {
        /// The array of sections; nil for one section with the id `main` and no content.
        public var sectionsAt: JSONPointer?
        /// A section's id, from its element.
        public var sectionIDAt = JSONPointer.id
        /// The items, from a section's element (nil: at `/items`), or from the document (nil: the document itself).
        public var itemsAt: JSONPointer?
        /// How an element of these is read.
        public var element = Element()
        /// Whether the first of several elements with one id is taken; else they are refused.
        public var keepsFirst = false
        /// What of the document becomes the state's own content.
        public var rest = Rest.none

        /// The document is the list, and its elements have an `id`.
        public init() {}

        /// Where the items are, given or by default.
        var items: JSONPointer { itemsAt ?? (sectionsAt == nil ? .root : JSONPointer(tokens: [Array("items".utf8)])) }
    }

    /// How an element becomes an item; the pointers start at the element.
    public struct Element: Sendable, Equatable {
        /// The parts of its id. Several are joined by `/`; in each, `~` is then written `~0` and `/` is `~1`.
        public var idAt = [JSONPointer.id]
        /// Its kind: a string or an integer.
        public var kindAt: JSONPointer?
        /// Its children, which are elements like itself.
        public var childrenAt: JSONPointer?
        /// Whether its children are shown: a boolean.
        public var expandedAt: JSONPointer?
        /// Whether elements are the members of an object, with their names as ids, instead of an array's elements.
        public var isMap = false

        /// An element with an `id`.
        public init() {}
    }

    /// What of a document, besides its list, becomes the list's own content.
    public enum Rest: Sendable, Equatable {
        case none
        /// All of it but the value at `itemsAt` or `sectionsAt`.
        case all
        /// Of that, these members.
        case members([JSONPointer])
    }
}

extension JSONPointer {
    fileprivate static let id = JSONPointer(tokens: [Array("id".utf8)])
}
