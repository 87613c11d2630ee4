import SnapshotKit

/// The body of a PUT: a first state and how its session is to be kept.
struct SessionRequest {
    let state: Snapshot
    let settings: Session.Settings

    init(putting body: consuming [UInt8], _ shape: StateShape, _ options: Options) throws(Problem) {
        guard shape == .native else {
            state = try Snapshot.read(body, shape, options.stateLimits)
            settings = options.defaultSettings
            return
        }
        let envelope: Envelope
        do throws(StateError) {
            envelope = try Envelope(
                json: body, members: .init(states: ["state"], values: ["ttl", "ignore"], required: ["state"]),
                limits: options.stateLimits)
        } catch { throw Problem(error) }
        state = envelope.states["state"]!
        settings = try Session.Settings(envelope, defaults: options.defaultSettings)
    }
}

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
