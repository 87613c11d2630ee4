import HTTPCore

// Several nodes may serve one session, and its source should be asked once for all of them. So a node takes the turn
// before it asks. The turn is busy while its holder asks, and then free but not due until the next time. With it goes a
// note of the outcome, so that every node knows how old the list is. A node that dies with the turn loses it after a
// while.

/// The outcome of an attempt to take the turn of a session.
enum SourceTurn: Sendable {
    /// This node has the turn until it gives it back.
    case taken(SourceNote?)
    /// Another node is asking now.
    case busy(SourceNote?)
    /// The turn is free, but not due before so long.
    case notDue(SourceNote?, in: Duration)

    var note: SourceNote? {
        switch self {
        case .taken(let note), .busy(let note), .notDue(let note, _): note
        }
    }
}

/// Each session has a turn for its source, and one for its hook.
enum TurnPurpose: String, Sendable {
    case source, hook
}

/// What nodes tell each other of a source.
struct SourceNote: Sendable, Equatable {
    /// Of the last request.
    enum Outcome: String, Sendable {
        case fetched, failed
        /// The source says that there is no such list.
        case missing
    }

    var outcome: Outcome
    /// Since the last success; nil if there was none.
    var age: Duration?
    /// From one success to the next request.
    var interval: Duration
    /// In a row.
    var failures: Int
    /// The text of the revision that the last success led to.
    var revision: String?
    /// For a conditional request (RFC 9110 §13.1).
    var validators: SourceValidators
    /// Where the list came from, see `ListMatch.origin`.
    var origin: UInt64 = 0
}

/// By which a source recognises the state that it answered with.
struct SourceValidators: Sendable, Equatable {
    var etag: String?
    var lastModified: String?
}

extension SessionStore {
    /// Without other nodes every turn is this process's.
    func takeTurn(
        _ purpose: TurnPurpose, of name: String, for time: Duration, isForced: Bool, on loop: EventLoop
    ) -> Stored<SourceTurn> { .done(.success(.taken(nil))) }

    func endTurn(
        _ purpose: TurnPurpose, of name: String, _ note: SourceNote?, next: Duration, on loop: EventLoop
    ) -> Stored<Void> { .done(.success(())) }
}
