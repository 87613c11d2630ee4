import SnapshotKit

extension Session.Settings {
    /// Members of a body that say them.
    static let members = ["ttl", "ignore", "shape"]
    /// A state with these.
    static let besideState = Envelope.Members(
        states: ["state"], values: members, required: ["state"], shape: "shape")

    /// Those that an envelope says; the others are the defaults.
    init(_ envelope: Envelope, defaults: Session.Settings) throws(StateError) {
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
                throw .limitExceeded(
                    what: "pointers", limit: Self.maxIgnored, actual: texts.count, pointer: "/ignore")
            }
            ignored = []
            for text in texts {
                guard let pointer = JSONPointer(text), pointer.isServed else { throw Self.wrongIgnore }
                ignored.append(pointer)
            }
        }
        if let value = envelope.values["shape"] { shape = try StateShape(value, at: "/shape") }
    }

    private static let wrongIgnore = StateError.wrongMember(
        "/ignore",
        "ignore is an array of JSON Pointers into an item's content, each of at most \(JSONPointer.maxServed) segments")
}

extension StateError {
    /// A member of the body, besides states and edits, that is not of its type.
    static func wrongMember(_ pointer: String, _ detail: String) -> StateError {
        .wrongShape([Violation(pointer: pointer, code: "wrong-type", detail: detail)])
    }
}

extension Problem {
    /// The same of a request.
    static func wrongMember(_ pointer: String, _ detail: String) -> Problem {
        Problem(StateError.wrongMember(pointer, detail))
    }
}
