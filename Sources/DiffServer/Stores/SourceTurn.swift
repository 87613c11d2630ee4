import HTTPCore

// Several nodes may serve one session, and its source is to be asked once for all of them. So whoever wants to ask
// takes the turn first. A turn is busy while its holder asks, and when that is over it is nobody's until the next time
// is due; with it goes a note of what came of it, so that every node knows how old the list is. Whoever dies while it
// holds the turn loses it after a while.

/// What became of an attempt to take the turn of a session.
enum SourceTurn: Sendable {
    /// It is this node's, until it is given back.
    case taken(SourceNote?)
    /// Another node is asking now.
    case busy(SourceNote?)
    /// It is nobody's, and not due before so long.
    case notDue(SourceNote?, in: Duration)

    /// What is known of the source.
    var note: SourceNote? {
        switch self {
        case .taken(let note), .busy(let note), .notDue(let note, _): note
        }
    }
}

/// Which turn: each session has one for its source, and one for its hook.
enum TurnPurpose: String, Sendable {
    case source, hook
}

/// What nodes tell each other of a source.
struct SourceNote: Sendable, Equatable {
    /// What the last request came to.
    enum Outcome: String, Sendable {
        case fetched, failed
        /// There is no such list, says its source.
        case missing
    }

    var outcome: Outcome
    /// Since the last success; nil if there was none.
    var age: Duration?
    /// From one success to the next request.
    var interval: Duration
    /// In a row.
    var failures: Int
    /// The session's revision that the last success led to, by its text.
    var revision: String?
    /// What a conditional request names (RFC 9110 §13.1).
    var validators: SourceValidators
    /// Where that came from, see `ListMatch.origin`.
    var origin: UInt64 = 0
}

/// What a source calls the state that it answered with.
struct SourceValidators: Sendable, Equatable {
    var etag: String?
    var lastModified: String?
}

extension SessionStore {
    /// Where nobody else serves the sessions, every turn is this process's.
    func takeTurn(
        _ purpose: TurnPurpose, of name: String, for time: Duration, isForced: Bool, on loop: EventLoop
    ) -> Stored<SourceTurn> { .done(.success(.taken(nil))) }

    func endTurn(
        _ purpose: TurnPurpose, of name: String, _ note: SourceNote?, next: Duration, on loop: EventLoop
    ) -> Stored<Void> { .done(.success(())) }
}
