// Where a list seems to be in somebody's JSON. Three steps: `ListFinder` walks through the document's objects and notes
// arrays and objects that could be lists; `ElementProfile` looks at the elements of the likeliest and finds what tells
// them apart; `ListReading` turns that into shapes, each with a score. The best are tried with the parser, so that
// every shape offered is accepted, and its rows are counted rather than estimated.
//
// A member is only sure to tell elements apart if its name says so and no two share its value: a measure or a title may
// be unique by accident. Where no member is sure, elements are matched with those before them (`idBy=match`).
//
// The work is bounded, whatever the document: one pass to find lists, at most three over each of six lists, and five
// readings. The walk enters six levels of objects, a profile three, and neither calls itself any deeper.
//
// Rejected: a schema for each known kind of document (GeoJSON, JSON:API, …). Names and common members find those as
// well, and documents of no known kind besides.

/// A shape with which a document can be read, and what that gives.
public struct ShapeGuess: Sendable, Equatable {
    /// Where the list seems to be; `native` if the document is a state itself.
    public let shape: StateShape
    /// The state's rows.
    public let rows: Int
    /// The state's sections.
    public let sections: Int

    package init(_ shape: StateShape, _ reading: StateReading) {
        (self.shape, rows, sections) = (shape, reading.snapshot.rowCount, reading.snapshot.sectionCount)
    }

    /// The largest number of guesses, and of readings that are tried for them.
    public static let maxCount = 5

    /// About how many times as much as to read a document it costs to guess its shapes, and the likeliest alone.
    package static let cost = 8
    package static let likelyCost = 5

    /// A guess as an object of `shape`, `rows` and `sections`.
    public func write(into writer: inout JSONWriter) {
        writer.append("{\"shape\":")
        shape.write(into: &writer)
        writer.emit(",\"rows\":", rows, ",\"sections\":")
        writer.append(sections)
        writer.append("}")
    }
}

extension StateDocument {
    /// The shapes that the document seems to have, best first, each of them tried. None if it has no elements, of which
    /// a guess could be made, is a state that only repeats ids, or is an edit. A state has no other shape than the
    /// native one, unless its items are ids alone; if those repeat, and are not in objects, it has that of any list.
    /// O(bytes).
    ///
    /// - Throws: `StateError.json`, or `.limitExceeded` if the only lists are larger than `limits`.
    public mutating func shapes(_ limits: StateLimits = StateLimits()) throws(StateError) -> [ShapeGuess] {
        try check(limits)
        let native: StateReading
        do throws(StateError) { native = try state(.native, limits: limits) } catch {
            if isOperation || error.isOfDuplicates && !holdsOnlyIDs(inObjects: false) { return [] }
            if case .limitExceeded = error { throw error }
            return try foreignShapes(limits)
        }
        guard native.snapshot.itemCount > 0 else { return [] }
        let others = holdsOnlyIDs() ? try foreignShapes(limits, trying: ShapeGuess.maxCount - 1) : []
        return [ShapeGuess(.native, native)] + others
    }

    /// The same for a document whose successors may have more: ids alone are a list like any other, also repeated ones,
    /// and `op` is a member like any other, since a source sends no edits. None if its list is empty; one that has
    /// none, or only one of errors, throws.
    package mutating func listShapes(_ limits: StateLimits) throws(StateError) -> [ShapeGuess] {
        try check(limits)
        let foreign = holdsOnlyIDs() || isOperation ? try foreignShapes(limits) : []
        let found = (foreign.isEmpty ? try shapes(limits) : foreign).filter { !$0.shape.isOfErrors }
        guard found.isEmpty, !finding({ $0.lists.isEmpty && $0.hasEmptyList }) else { return found }
        do throws(StateError) {
            _ = try state(.native, limits: limits)
            return []
        } catch {
            throw error.isOfDuplicates ? error : .noList
        }
    }

    /// Whether the document is a state, or one that only repeats ids. O(bytes).
    mutating func isState(_ limits: StateLimits) -> Bool {
        do throws(StateError) {
            _ = try state(.native, limits: limits)
            return true
        } catch { return error.isOfDuplicates }
    }

    /// The best two guesses for JSON that was refused as a state; without sections if `isFlat`. O(bytes).
    package mutating func likelyShapes(_ limits: StateLimits, isFlat: Bool) -> [ShapeGuess] {
        (try? foreignShapes(limits, trying: 3, upTo: 2, isFlat: isFlat)) ?? []
    }

    /// A guess with all of a shape that was named that it does not contradict: its ids, or at least the rest.
    package mutating func guess(
        _ guess: ShapeGuess, keeping named: StateShape.FieldMapping?, _ limits: StateLimits
    ) -> ShapeGuess {
        for shape in named?.found(as: guess.shape) ?? [] {
            if let reading = try? state(shape, limits: limits), reading.snapshot.rowCount == guess.rows {
                return ShapeGuess(shape, reading)
            }
        }
        return guess
    }

    private mutating func foreignShapes(
        _ limits: StateLimits, trying trials: Int = ShapeGuess.maxCount, upTo most: Int = .max, isFlat: Bool = false
    ) throws(StateError) -> [ShapeGuess] {
        var guesses: [ShapeGuess] = []
        var excess: StateError?
        let candidates = candidates(limits).lazy.filter { !isFlat || $0.shape.mapping?.sectionsAt == nil }
        for reading in candidates.prefix(trials) where guesses.count < most {
            do throws(StateError) {
                guesses.append(ShapeGuess(reading.shape, try state(reading.shape, limits: limits)))
            } catch { if case .limitExceeded = error { excess = excess ?? error } }
        }
        if guesses.isEmpty, let excess { throw excess }
        return guesses
    }

    /// Shapes that the document, which must be JSON, may have, best first.
    func candidates(_ limits: StateLimits) -> [ListReading] {
        finding { ListReading.readings(of: $0.lists, maxItems: limits.maxItems) }
    }

    /// Calls `body` with what could be lists in the document, which must be JSON.
    func finding<Result>(_ body: (ListFinder) -> Result) -> Result { withStart { body(ListFinder($0)) } }

    /// Whether it is an array, or an object with `items` alone, of ids and of objects with an `id` alone.
    private func holdsOnlyIDs(inObjects: Bool = true) -> Bool {
        guard isArray || names(among: ["items"]) == ["items"] else { return false }
        let items = PointerSet(isArray ? [.root] : [JSONPointer("/items")!])
        return withStart { start in
            var cursor = JSONCursor(start)
            cursor.skipSpace()
            guard let list = items.value(in: cursor.at, entersArrays: false) else { return false }
            var isBare = true
            FoundList.forEach(in: list) { element in
                isBare = element.takesOnlyID(inObjects: inObjects)
                return isBare
            }
            return isBare
        }
    }
}

extension JSONCursor {
    /// Takes a value; whether it is a string, a number, or an object with an `id` and nothing else.
    fileprivate mutating func takesOnlyID(inObjects: Bool) -> Bool {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            skipValue()
            return true
        case UInt8(ascii: "{") where inObjects:
            guard enter(), takeName().isText("id") else { return false }
            skipValue()
            return !takesComma()
        default: return false
        }
    }
}

extension StateShape.FieldMapping {
    /// This shape with the list of another one, and the same with its ids, if it has any. None unless both are flat.
    fileprivate func found(as other: StateShape) -> [StateShape] {
        guard let other = other.mapping, other.sectionsAt == nil, sectionsAt == nil else { return [] }
        var own = self
        own.itemsAt = other.itemsAt
        var mapping = own
        (mapping.element.idAt, mapping.element.isMap) = (other.element.idAt, other.element.isMap)
        mapping.element.kindAt = mapping.element.kindAt ?? other.element.kindAt
        return [StateShape(own)] + (other.element.idAt.isEmpty ? [] : [StateShape(mapping)])
    }
}

extension StateError {
    fileprivate var isOfDuplicates: Bool {
        if case .invalid(let violations) = self { violations.allSatisfy { $0.code == "duplicate-id" } } else { false }
    }

    static let noList = StateError.wrongShape([
        Violation(
            pointer: "", code: "wrong-shape",
            detail: "no list was found in it: no array of objects or texts, and no object whose members are alike")
    ])
}
