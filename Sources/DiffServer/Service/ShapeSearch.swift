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
    /// The shape that the request named; it may have found no rows.
    var tried: StateShape?

    /// Where a body holds its documents.
    enum Layout {
        /// The body itself, or its `state`.
        case changes
        /// Its `state`.
        case session
        /// Its `old` and its `new`.
        case diff
    }

    /// What the client is advised to do.
    enum Advice {
        /// Use a shape with which all documents would be accepted; its rows are those of the last document.
        case shape(ShapeGuess)
        /// Keep the shape, which finds some rows, but skip the elements without a usable id.
        case skip
        /// Send what looks like edits as edits.
        case edits
    }

    /// The cost of advice.
    var cost: WorkCost { .text(body.byteCount, times: ShapeGuess.likelyCost + (tried == nil ? 0 : 1)) }

    /// Advice that would make the documents acceptable; nil if none is found.
    func advice() -> Advice? {
        if body.holdsOperations { return layout == .changes && body.member("edits") == nil ? .edits : nil }
        guard var documents, !holdsOnlySettings else { return nil }
        let named = tried?.mapping ?? namedMapping
        if var lenient = named {
            lenient.skipsInvalid = true
            if let found = try? documents.new.state(StateShape(lenient), limits: limits), found.snapshot.itemCount > 0 {
                let isAccepted = (try? documents.old?.state(StateShape(lenient), limits: limits)) != nil
                return documents.old == nil || isAccepted ? .skip : nil
            }
        }
        return guess(&documents, named).map { .shape($0) }
    }

    /// - Parameter named: the shape that was named, of which all stays that the guess does not contradict.
    private func guess(_ documents: inout Documents, _ named: StateShape.FieldMapping?) -> ShapeGuess? {
        // If the documents are valid states, something else was wrong.
        if named == nil, (try? documents.new.state(.native, limits: limits)) != nil,
            documents.old == nil || (try? documents.old?.state(.native, limits: limits)) != nil
        {
            return nil
        }
        guard var guess = documents.new.likelyShape(limits) else { return nil }
        if let shape = named?.identified(as: guess.shape),
            let reading = try? documents.new.state(shape, limits: limits), reading.snapshot.rowCount == guess.rows
        {
            guess = ShapeGuess(shape, reading)
        }
        guard let _ = try? documents.old?.state(guess.shape, limits: limits) else {
            return documents.old == nil ? guess : nil
        }
        return guess
    }

    private typealias Documents = (new: StateDocument, old: StateDocument?)

    /// Whether the body holds only settings, whose lists are not rows.
    private var holdsOnlySettings: Bool {
        layout == .changes && body.names(among: Set(Session.Settings.members)) != nil
    }

    /// The shape next to the document.
    private var namedMapping: StateShape.FieldMapping? {
        guard tried == nil, layout != .diff else { return nil }
        return body.member("shape")?.shape?.mapping
    }

    /// The refused documents; nil if there are none.
    private var documents: Documents? {
        switch layout {
        case .changes where body.member("edits") != nil: return nil
        case .changes where tried != nil || body.member("state") == nil: return (body, nil)
        // An invalid shape must be mended first.
        case .changes, .session:
            return body.member("shape") == nil || namedMapping != nil ? body.member("state").map { ($0, nil) } : nil
        case .diff:
            guard let old = body.member("old"), let new = body.member("new") else { return nil }
            return (new, old)
        }
    }
}

extension StateShape.FieldMapping {
    /// This shape with the list and the ids of another one, which must be flat and have ids, as this one must be; else
    /// nil.
    fileprivate func identified(as other: StateShape) -> StateShape? {
        guard let other = other.mapping, other.sectionsAt == nil, sectionsAt == nil, !other.element.idAt.isEmpty else {
            return nil
        }
        var mapping = self
        (mapping.itemsAt, mapping.element.idAt, mapping.element.isMap) = (
            other.itemsAt, other.element.idAt, other.element.isMap
        )
        mapping.element.kindAt = mapping.element.kindAt ?? other.element.kindAt
        return StateShape(mapping)
    }
}

extension StateShape {
    /// The shape as a query, without defaults; empty for the native shape.
    package var query: String {
        essentials.map { "\($0.rawValue)=\(Self.encoded($1))" }.joined(separator: "&")
    }

    /// Keeps characters that stay readable in a query and mean nothing to a shell.
    private static func encoded(_ text: String) -> String {
        Percent.encoded(text, keeping: { Percent.isUnreserved($0) || "/:@".utf8.contains($0) })
    }
}
