import DiffSessions
import HTTPCore
import SnapshotKit

// Advice is followed. So none is given where it would be another operation than the one that was sent: an edit without
// its envelope, or a batch under another name, has a list in it, and with a shape that would replace the session's.

/// A body that was read as states and refused: perhaps for lack of a shape, or of the right one, which is then guessed
/// and suggested.
struct ShapeSearch: Sendable {
    let body: StateDocument
    let layout: Layout
    let limits: StateLimits
    /// The shape that the request named, and with which nothing may have been found.
    var tried: StateShape?

    /// Where documents are in a body.
    enum Layout {
        /// The body itself, or its `state`.
        case changes
        /// Its `state`.
        case session
        /// Its `old` and its `new`.
        case diff
    }

    /// What to advise.
    enum Advice {
        /// A shape with which all of the documents would be accepted; its rows are those of the last.
        case shape(ShapeGuess)
        /// The same shape, which finds some rows, without the elements that have no usable id.
        case skip
        /// To send what looks like edits as edits.
        case edits
    }

    /// The cost of advice.
    var cost: WorkCost { .text(body.byteCount, times: ShapeGuess.likelyCost + (tried == nil ? 0 : 1)) }

    /// What to do so that the documents are accepted, if it is found.
    func advice() -> Advice? {
        if body.holdsOperations { return layout == .changes && body.member("edits") == nil ? .edits : nil }
        guard var documents, !holdsOnlySettings else { return nil }
        let named = tried?.places ?? namedPlaces
        if var lenient = named {
            lenient.skipsInvalid = true
            if let found = try? documents.new.state(StateShape(lenient), limits: limits), found.snapshot.itemCount > 0 {
                let isAccepted = (try? documents.old?.state(StateShape(lenient), limits: limits)) != nil
                return documents.old == nil || isAccepted ? .skip : nil
            }
        }
        return guess(&documents, isNamed: named != nil).map { .shape($0) }
    }

    /// - Parameter isNamed: whether there was a shape.
    private func guess(_ documents: inout Documents, isNamed: Bool) -> ShapeGuess? {
        // If the documents are states, something else was wrong.
        if !isNamed, (try? documents.new.state(.native, limits: limits)) != nil,
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

    private typealias Documents = (new: StateDocument, old: StateDocument?)

    /// Whether the body is an object of settings, whose lists are none of rows.
    private var holdsOnlySettings: Bool {
        layout == .changes && body.names(among: Set(Session.Settings.members)) != nil
    }

    /// The shape beside the document.
    private var namedPlaces: StateShape.Places? {
        guard tried == nil, layout != .diff else { return nil }
        return body.member("shape")?.shape?.places
    }

    /// The documents that were refused; nil if there is none.
    private var documents: Documents? {
        switch layout {
        case .changes where body.member("edits") != nil: return nil
        case .changes where tried != nil || body.member("state") == nil: return (body, nil)
        // A shape that is none is mended first.
        case .changes, .session:
            return body.member("shape") == nil || namedPlaces != nil ? body.member("state").map { ($0, nil) } : nil
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
