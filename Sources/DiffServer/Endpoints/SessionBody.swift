import SnapshotKit

extension Session.Settings {
    /// `ttl` and `ignore` of an envelope, or the defaults.
    init(_ envelope: Envelope, defaults: Session.Settings) throws(Problem) {
        self = defaults
        if let value = envelope.values["ttl"] {
            guard let seconds = value.integer, (1...Options.maxTimeToLive).contains(seconds) else {
                throw .wrongMember("/ttl", "ttl is a whole number of seconds from 1 to \(Options.maxTimeToLive)")
            }
            timeToLive = .seconds(seconds)
        }
        if let value = envelope.values["ignore"] {
            guard let texts = value.strings else { throw Self.wrongIgnore }
            guard texts.count <= Self.maxIgnored else {
                throw Problem(
                    StateError.limitExceeded(
                        what: "pointers", limit: Self.maxIgnored, actual: texts.count, pointer: "/ignore"))
            }
            ignored = []
            for text in texts {
                guard let pointer = JSONPointer(text), pointer.isServed else { throw Self.wrongIgnore }
                ignored.append(pointer)
            }
        }
    }

    private static let wrongIgnore = Problem.wrongMember(
        "/ignore",
        "ignore is an array of JSON Pointers into an item's content, each of at most \(JSONPointer.maxServed) segments")
}

extension Problem {
    /// A member of the body, besides states and edits, that is not of its type.
    static func wrongMember(_ pointer: String, _ detail: String) -> Problem {
        Problem(StateError.wrongShape([Violation(pointer: pointer, code: "wrong-type", detail: detail)]))
    }
}

extension Snapshot {
    /// The state in a body, which most likely resembles a known one.
    static func read(
        _ body: consuming [UInt8], _ shape: StateShape, _ limits: StateLimits, upon known: Snapshot? = nil
    ) throws(Problem) -> StateReading {
        do throws(StateError) {
            return try Snapshot.reading(json: body, shape: shape, limits: limits, upon: known)
        } catch { throw Problem(error) }
    }
}
