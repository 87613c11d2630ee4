// One document may mislead: an id may have been unique by accident, children may have been missing, or the list itself.
// So the shape of a list that is fetched again and again is guessed of several documents.

extension StateDocument {
    /// A better shape for a list's documents than the one guessed of those before; nil if that stays.
    ///
    /// A list stays where it was found unless another one is far more likely. A shape is only corrected where it
    /// refuses the document, changes ids of elements that are the same, matches fewer elements than codes in them do,
    /// or misses sections, children or kinds. A state remains one if an id repeats in it: its members are no accident.
    ///
    /// - Parameters:
    ///   - reading: what the document is by that shape; nil if it refuses the document.
    ///   - known: the state before, by that shape.
    package mutating func correction(
        of shape: StateShape, reading: StateReading?, after known: Snapshot, _ limits: StateLimits
    ) -> StateShape? {
        let readings = candidates(limits).filter { !$0.shape.isOfErrors }
        let (all, own) = (readings.map(\.shape), readings.filter { $0.shape.listAt == shape.listAt })
        guard var mapping = shape.mapping, let likely = own.first?.shape else {
            if reading != nil || shape == .native && isState(limits) { return nil }
            // A document that was a state, and has more members than one may have, keeps its sections and rows.
            return accepted((shape == .native ? StateShape.ofStates : []) + all, limits)
        }
        let alike = own.map(\.shape).filter { $0.tellsApart(like: shape) }
        guard let reading else { return accepted(alike, limits) ?? accepted(mapping.matched + all, limits) }
        if readings[0].score > own[0].score + 40 { return accepted([all[0]], limits) }
        // An array has come in place of an object, and its elements have ids, as positions are none.
        if mapping.element.isMap, likely.hasMemberID { return accepted([likely], limits) }
        if reading.snapshot.hasOtherIDs(than: known, at: mapping.element) { return accepted(mapping.matched, limits) }
        if mapping.element.continuesHead, let coded = own.map(\.shape).first(where: \.hasOneID),
            reading.snapshot.continues(known, betterAt: coded.mapping!.element.idAt)
        {
            return accepted([coded], limits)
        }
        if shape.isFlat, !likely.isFlat { return accepted([likely], limits) }
        guard mapping.element.kindAt == nil, let kind = alike.lazy.compactMap(\.mapping?.element.kindAt).first else {
            return nil
        }
        mapping.element.kindAt = kind
        return accepted([StateShape(mapping)], limits)
    }

    /// A shape to go on with where one that was guessed finds no list: it matched elements of answers that may have
    /// been of an outage, and here are at least as many, with ids. Nil if there is none.
    package mutating func successor(of shape: StateShape, after known: Snapshot, _ limits: StateLimits) -> StateShape? {
        guard shape.continuesHead, let other = candidates(limits).first?.shape,
            other.hasMemberID, !other.isOfErrors, let found = try? state(other, limits: limits).snapshot,
            found.itemCount >= max(1, known.itemCount)
        else { return nil }
        return other
    }

    /// Members that could be lists, but have no elements: one may have been meant. At most six. O(bytes).
    package var emptyPlaces: [JSONPointer] { finding(\.emptyPlaces) }

    /// The shape of a list at one of some places, if it is likelier than the list of a guess made while it was empty:
    /// it has no fewer elements, and is far likelier, or has ids where the guess only matches elements. O(bytes).
    package mutating func lateList(
        at places: [JSONPointer], than shape: StateShape, _ limits: StateLimits
    ) -> StateShape? {
        let late = finding { finder in
            let rows = finder.lists.first { $0.pointer == shape.listAt }?.count ?? 0
            return finder.lists.filter { $0.count >= rows && places.contains($0.pointer) }.map(\.pointer)
        }
        let all = late.isEmpty ? [] : candidates(limits)
        guard let other = all.first(where: { $0.shape.listAt.map(late.contains) == true && !$0.shape.isOfErrors })
        else { return nil }
        let isSurer = shape.continuesHead && other.shape.hasMemberID
        let known = all.first { $0.shape.listAt == shape.listAt }
        return isSurer || known.map { other.score > $0.score + 40 } == true ? accepted([other.shape], limits) : nil
    }

    private mutating func accepted(_ shapes: [StateShape], _ limits: StateLimits) -> StateShape? {
        for shape in shapes.prefix(ShapeGuess.maxCount) {
            if (try? state(shape, limits: limits)) != nil { return shape }
        }
        return nil
    }
}

extension StateShape {
    /// The outermost list.
    fileprivate var listAt: JSONPointer? {
        mapping.map { $0.element.groupAt == nil ? $0.sectionsAt ?? $0.items : $0.items }
    }

    /// Whether it finds what an answer says is wrong, rather than a list.
    var isOfErrors: Bool {
        guard let mapping, let name = listAt?.tokens.last else { return false }
        return ["error", "errors", "warnings"].contains(String(decoding: name, as: UTF8.self))
            && mapping.element.idAt.map(\.tokens.last) != [Array("id".utf8)]
    }

    /// The lists of a state in an object, with the ids of states.
    fileprivate static let ofStates: [StateShape] = [
        .pointers(sectionsAt: JSONPointer("/sections"), itemsAt: JSONPointer("/items")),
        .pointers(itemsAt: JSONPointer("/items")),
    ]

    fileprivate var isFlat: Bool {
        mapping.map { $0.sectionsAt == nil && $0.element.childrenAt == nil && $0.element.groupAt == nil } ?? false
    }

    /// Whether it is flat, and each element has an id of its own at one place.
    fileprivate var hasOneID: Bool {
        isFlat && mapping.map { $0.element.idAt.count == 1 && !$0.element.isMap && !$0.keepsFirst } ?? false
    }

    fileprivate var hasMemberID: Bool {
        mapping.map { !$0.element.isMap && !$0.element.idAt.isEmpty && $0.element.idAt != [.root] } ?? false
    }

    /// Whether the elements of the same lists are told apart in the same way.
    fileprivate func tellsApart(like other: StateShape) -> Bool {
        guard let one = mapping, let other = other.mapping, !one.keepsFirst else { return false }
        return one.sectionsAt == other.sectionsAt && one.items == other.items
            && one.element.groupAt == other.element.groupAt && one.element.idAt == other.element.idAt
            && one.element.isMap == other.element.isMap
    }
}

extension StateShape.FieldMapping {
    /// The same list with elements without ids, unless its sections are found by name or index, which need them.
    fileprivate var matched: [StateShape] {
        guard !sectionsAreMap else { return [] }
        var mapping = self
        (mapping.element, mapping.keepsFirst) = (StateShape.Element(), false)
        (mapping.element.idAt, mapping.element.groupAt) = ([], element.groupAt)
        return [StateShape(mapping)]
    }
}

extension Snapshot {
    /// Whether most elements that are equal apart from their ids have different ones in the known state: what is there
    /// is no id, but a position or a number drawn for each answer. O(bytes).
    fileprivate func hasOtherIDs(than known: Snapshot, at element: StateShape.Element) -> Bool {
        guard !element.isMap, !element.continuesHead, element.idAt != [.root] else { return false }
        let mapping = PointerSet(element.idAt)
        let (before, now) = (known.ids(byContent: mapping), ids(byContent: mapping))
        let pairs = now.compactMap { content, id in before[content].map { $0 == id } }
        let changed = pairs.count { !$0 }
        return changed > 1 && changed * 2 > pairs.count
    }

    /// Whether more elements of a state before are here by the codes at a place than by their ids. O(bytes).
    fileprivate func continues(_ known: Snapshot, betterAt place: [JSONPointer]) -> Bool {
        guard let codes = codes(at: place), let before = known.codes(at: place) else { return false }
        let common = codes.intersection(before).count
        return common * 2 > min(codes.count, before.count) && common > ids.intersection(known.ids).count
    }

    private var ids: Set<UInt64> {
        columns.withView { view in
            Set(view.nodes.indices.map { KeyedHash.process.digest(of: view.id(ofItem: $0).text) })
        }
    }

    /// Hashes of the texts at a place in each content; nil unless all have letters, digits and no blanks, as codes do.
    private func codes(at place: [JSONPointer]) -> Set<UInt64>? {
        let place = PointerSet(place)
        return columns.withView { view in
            var codes: Set<UInt64> = []
            for item in view.nodes.indices {
                let content = view.content(ofItem: item)
                guard !content.isEmpty, let value = place.value(in: content.baseAddress!, entersArrays: false) else {
                    return nil
                }
                var cursor = JSONCursor(value)
                guard cursor.byte == UInt8(ascii: "\"") else { return nil }
                let code = cursor.takeString()
                guard code.text.contains(where: \.isDigit), !code.text.contains(UInt8(ascii: " ")),
                    code.text.contains(where: \.isLetter)
                else { return nil }
                codes.insert(SnapshotKit.fingerprint(of: code, by: .process))
            }
            return codes
        }
    }

    /// Hashes of ids, by those of contents without them; 0 if several have one content.
    private func ids(byContent ignored: PointerSet) -> [UInt64: UInt64] {
        columns.withView { view in
            var ids: [UInt64: UInt64] = [:]
            for item in view.nodes.indices {
                let content = fingerprint(of: view.content(ofItem: item), by: .process, ignoring: ignored)
                let id = KeyedHash.process.digest(of: view.id(ofItem: item).text)
                ids[content] = ids[content] == nil ? id : 0
            }
            return ids.filter { $0.value != 0 }
        }
    }
}
