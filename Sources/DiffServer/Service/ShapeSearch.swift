import DiffSessions
import HTTPCore
import SnapshotKit

// Clients follow advice. So none is given that would turn the request into another operation: an edit without its
// envelope, or a batch under another name, contains a list, and read with a shape that would replace the session's.

/// A body that was refused as a state. It may lack a shape, or name a wrong one: then a shape is guessed and suggested.
struct ShapeSearch: Sendable {
    let body: StateDocument
    let layout: Layout
    let limits: StateLimits
    /// The shape that the request named, if it is not the native one; it may have found no rows.
    let tried: StateShape.FieldMapping?

    /// Where a body holds its documents.
    enum Layout {
        /// The body itself, or its `state`.
        case changes
        /// The body itself, as the rows of a section.
        case section
        /// Its `state`.
        case session
        /// Its `old` and its `new`.
        case diff
    }

    /// What the client is advised to do.
    enum Advice {
        /// Use a shape with which all documents would be accepted; its rows are those of the last document. Where it
        /// matches elements, a member may tell them apart better, if that is an id.
        case shape(ShapeGuess, orIfIDs: ShapeGuess?)
        /// Send the document as `state`.
        case wrap
        /// Keep the shape, which finds some rows, but skip the elements without a usable id.
        case skip
        /// Send what looks like edits as edits.
        case edits
    }

    var cost: WorkCost { .text(body.byteCount, times: ShapeGuess.likelyCost + (tried == nil ? 0 : 2)) }

    /// Advice that would make the documents acceptable; nil if none is found.
    func advice() -> Advice? {
        if body.holdsCommand { return layout == .changes && body.member("edits") == nil ? .edits : nil }
        if layout == .session, body.member("state") == nil {
            var body = body
            return hasRows(&body, tried.map { StateShape($0) } ?? .native) ? .wrap : nil
        }
        // The lists of settings are not rows.
        let mayBeSettings = layout == .changes || layout == .section
        if mayBeSettings, body.names(among: Set(Session.Settings.members)) != nil { return nil }
        guard var documents else { return nil }
        let named = tried ?? namedMapping
        let shape = named.map { StateShape($0) } ?? .native
        // If the documents are valid states, something else was wrong.
        if (try? documents.new.state(shape, limits: limits)) != nil, isValid(&documents.old, shape) { return nil }
        if var lenient = named {
            lenient.skipsInvalid = true
            let shape = StateShape(lenient)
            if hasRows(&documents.new, shape) { return isValid(&documents.old, shape) ? .skip : nil }
        }
        let likely = documents.new.likelyShapes(limits, isFlat: layout == .section)
        guard let first = likely.first else { return nil }
        let guess = documents.new.guess(first, keeping: named, limits)
        guard isValid(&documents.old, guess.shape) else { return nil }
        // One list of elements with ids.
        let other = likely.dropFirst().first { !$0.shape.continuesHead && $0.shape.mapping?.sectionsAt == nil }
        return .shape(guess, orIfIDs: guess.shape.continuesHead ? other : nil)
    }

    private func hasRows(_ document: inout StateDocument, _ shape: StateShape) -> Bool {
        (try? document.state(shape, limits: limits)).map { $0.snapshot.itemCount > 0 } ?? false
    }

    private func isValid(_ document: inout StateDocument?, _ shape: StateShape) -> Bool {
        document == nil || (try? document?.state(shape, limits: limits)) != nil
    }

    /// The shape next to the document.
    private var namedMapping: StateShape.FieldMapping? {
        tried == nil && layout != .diff ? body.member("shape")?.shape?.mapping : nil
    }

    /// The refused documents; nil if there are none.
    private var documents: (new: StateDocument, old: StateDocument?)? {
        let isBare = tried != nil || body.member("state") == nil
        switch layout {
        case .changes where body.member("edits") != nil, .section where body.member("edits") != nil: return nil
        case .changes where isBare, .section where isBare: return (body, nil)
        case .section: return nil
        // An invalid shape must be mended first.
        case .changes, .session:
            guard body.member("shape") == nil || namedMapping != nil else { return nil }
            return body.member("state").map { ($0, nil) }
        case .diff:
            guard let old = body.member("old"), let new = body.member("new") else { return nil }
            return (new, old)
        }
    }
}

extension StateShape {
    /// The shape as a query, without defaults; empty for the native shape.
    package var query: String {
        essentials.map { member, text in
            // Keeps characters that stay readable in a query and mean nothing to a shell.
            let value = Percent.encoded(text, keeping: { Percent.isUnreserved($0) || "/:@".utf8.contains($0) })
            return "\(member.rawValue)=\(value)"
        }.joined(separator: "&")
    }
}
