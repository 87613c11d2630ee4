import HTTPCore
import SnapshotKit

/// A body that was read as states and refused: perhaps for lack of a shape, which is then guessed and suggested.
struct ShapeSearch: Sendable {
    let body: StateDocument
    let layout: Layout
    let limits: StateLimits

    /// Where documents are in a body.
    enum Layout {
        /// The body itself, or its `state`.
        case changes
        /// Its `state`.
        case session
        /// Its `old` and its `new`.
        case diff
    }

    /// The cost of a guess.
    var cost: WorkCost { .text(body.byteCount, times: ShapeGuess.likelyCost) }

    /// A shape with which all of the documents would be accepted, if one is found; its rows are those of the last.
    func guess() -> ShapeGuess? {
        guard var documents else { return nil }
        // If the documents are states, something else was wrong.
        if (try? documents.new.state(.native, limits: limits)) != nil,
            documents.old == nil || (try? documents.old?.state(.native, limits: limits)) != nil
        {
            return nil
        }
        guard let guess = documents.new.likelyShape(limits) else { return nil }
        guard let _ = try? documents.old?.state(guess.shape, limits: limits) else {
            return documents.old == nil ? guess : nil
        }
        return guess
    }

    /// The documents that were refused; nil if they have a shape, or if there is none.
    private var documents: (new: StateDocument, old: StateDocument?)? {
        switch layout {
        case .changes where body.member("edits") != nil: return nil
        case .changes where body.member("state") == nil: return (body, nil)
        case .changes, .session:
            return body.member("shape") == nil ? body.member("state").map { ($0, nil) } : nil
        case .diff:
            guard let old = body.member("old"), let new = body.member("new") else { return nil }
            return (new, old)
        }
    }
}

extension StateShape {
    /// As a request's query, without defaults. Empty if native.
    package var query: String {
        essentials.map { "\($0.rawValue)=\(Self.encoded($1))" }.joined(separator: "&")
    }

    /// Keeps characters that stay readable in a query, and have no meaning in a shell.
    private static func encoded(_ text: String) -> String {
        Percent.encoded(text, keeping: { Percent.isUnreserved($0) || "/:@".utf8.contains($0) })
    }
}
