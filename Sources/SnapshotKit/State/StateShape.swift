/// Where a state stands in a JSON document.
public struct StateShape: Sendable, Equatable {
    /// Pointers into a document of any shape.
    struct Places: Sendable, Equatable {
        var sections: JSONPointer?
        /// Relative to a section's element; `items` is relative to the document where there are no sections.
        var sectionID: JSONPointer
        var items: JSONPointer
        /// Relative to an item's element.
        var itemID: JSONPointer
    }

    let places: Places?

    /// The library's own shape: an object with `sections`, an object with `items`, or an array of items.
    public static let native = StateShape(places: nil)

    private init(places: Places?) { self.places = places }

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
        let id = JSONPointer(tokens: [Array("id".utf8)])
        let items = sectionsAt == nil ? JSONPointer.root : JSONPointer(tokens: [Array("items".utf8)])
        return StateShape(
            places: Places(
                sections: sectionsAt, sectionID: sectionIDAt ?? id, items: itemsAt ?? items, itemID: idAt ?? id))
    }
}
