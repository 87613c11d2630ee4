import SnapshotKit

extension Session.Settings {
    /// The members of a body that set them.
    static let members = ["ttl", "ignore", "shape", "keep"]
    /// With a state.
    static let besideState = Envelope.Members(states: ["state"], values: members, shape: "shape")
}

extension Session.SettingsChange {
    init(_ envelope: Envelope) throws(StateError) {
        self.init()
        for name in Session.Settings.members {
            if let value = envelope.values[name] { try take(name, value) }
        }
    }

    /// Sets what one of `Session.Settings.members` says. Pointers in errors start from the object that holds it.
    mutating func take(_ name: String, _ value: JSONSlice) throws(StateError) {
        switch name {
        case "ttl":
            guard let seconds = value.integer, (1...Options.maxTimeToLive).contains(seconds) else {
                throw .wrongMember("/ttl", "ttl must be a whole number of seconds from 1 to \(Options.maxTimeToLive)")
            }
            timeToLive = .seconds(seconds)
        case "ignore":
            guard let texts = value.strings else { throw Self.wrongIgnore }
            guard texts.count <= Session.Settings.maxIgnored else {
                throw .limitExceeded(
                    what: "pointers", limit: Session.Settings.maxIgnored, actual: texts.count, pointer: "/ignore")
            }
            let pointers = texts.compactMap { JSONPointer($0) }
            guard pointers.count == texts.count, pointers.allSatisfy(\.isServed) else { throw Self.wrongIgnore }
            ignored = pointers
        case "shape": shape = try StateShape(value, at: "/shape")
        case "keep":
            guard let names = value.strings, names.allSatisfy({ $0 == "expanded" }) else {
                throw .wrongMember("/keep", "keep must be an array that holds \"expanded\" or nothing")
            }
            keepsExpanded = !names.isEmpty
        default: preconditionFailure("\(name) is none of Session.Settings.members")
        }
    }

    private static let wrongIgnore = StateError.wrongMember(
        "/ignore",
        "ignore must be an array of JSON Pointers into contents, each of at most \(JSONPointer.maxServed) segments"
    )
}

extension StateError {
    /// A member, besides states and edits, that has the wrong type.
    static func wrongMember(_ pointer: String, _ detail: String) -> StateError {
        .wrongShape([Violation(pointer: pointer, code: "wrong-type", detail: detail)])
    }
}

extension Problem {
    static func wrongMember(_ pointer: String, _ detail: String) -> Problem {
        Problem(StateError.wrongMember(pointer, detail))
    }
}
