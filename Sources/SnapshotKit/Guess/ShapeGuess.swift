// Where a list seems to be in somebody's JSON. Three steps: `ListFinder` walks through the document's objects and notes
// arrays and objects that could be lists; `ElementProfile` looks at the elements of the likeliest and finds what tells
// them apart; `ListReading` turns that into shapes, each with a score. The best are tried with the parser, so that
// every shape offered is accepted, and its rows are counted rather than estimated.
//
// The work is bounded, whatever the document: one pass to find lists, at most two over each of six lists, and five
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

    /// The largest number of guesses, and of readings that are tried for them.
    public static let maxCount = 5

    /// About how many times as much as reading a document it costs to guess its shapes, and to guess the likeliest
    /// alone.
    package static let cost = 8
    package static let likelyCost = 4

    /// A guess as an object of `shape`, `rows` and `sections`.
    public func write(into writer: inout JSONWriter) {
        writer.append("{\"shape\":")
        shape.write(into: &writer)
        writer.append(",\"rows\":")
        writer.append(rows)
        writer.append(",\"sections\":")
        writer.append(sections)
        writer.append("}")
    }
}

extension StateDocument {
    /// The shapes that the document seems to have, best first, each of them tried. A document that can be read natively
    /// has no other, and neither has one that only repeats ids.
    ///
    /// O(bytes).
    ///
    /// - Throws: `StateError.json`, or `.limitExceeded` if the only lists are larger than `limits`.
    public mutating func shapes(_ limits: StateLimits = StateLimits()) throws(StateError) -> [ShapeGuess] {
        try check(limits)
        do throws(StateError) {
            return [ShapeGuess(.native, try state(.native, limits: limits))]
        } catch {
            switch error {
            case .invalid(let violations) where violations.allSatisfy({ $0.code == "duplicate-id" }): return []
            case .limitExceeded: throw error
            default: break
            }
        }
        return try foreignShapes(limits: limits, upTo: ShapeGuess.maxCount, trying: ShapeGuess.maxCount)
    }

    /// The best guess for a document that is JSON but was refused as a state; nil without one. O(bytes).
    package mutating func likelyShape(_ limits: StateLimits) -> ShapeGuess? {
        (try? foreignShapes(limits: limits, upTo: 1, trying: 2))?.first
    }

    private mutating func foreignShapes(
        limits: StateLimits, upTo most: Int, trying trials: Int
    ) throws(StateError) -> [ShapeGuess] {
        var guesses: [ShapeGuess] = []
        var excess: StateError?
        for shape in candidates(limits).prefix(trials) where guesses.count < most {
            do throws(StateError) { guesses.append(ShapeGuess(shape, try state(shape, limits: limits))) } catch {
                if case .limitExceeded = error { excess = excess ?? error }
            }
        }
        if guesses.isEmpty, let excess { throw excess }
        return guesses
    }

    /// Shapes that the document may have, best first. It must be JSON.
    private func candidates(_ limits: StateLimits) -> [StateShape] {
        withStart { start in
            var finder = ListFinder(start)
            return finder.lists().flatMap { ListReading.readings(of: $0, maxItems: limits.maxItems) }
                .enumerated().sorted { ($1.element.score, $0.offset) < ($0.element.score, $1.offset) }
                .map(\.element.shape)
        }
    }
}

extension ShapeGuess {
    /// The result of a shape.
    package init(_ shape: StateShape, _ reading: StateReading) {
        self.init(shape: shape, rows: reading.snapshot.rowCount, sections: reading.snapshot.sectionCount)
    }
}
