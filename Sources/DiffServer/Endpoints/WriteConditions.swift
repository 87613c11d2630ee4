import HTTPCore
import SnapshotKit

/// What a writer demands, besides the write: headers of a POST to `changes`.
struct WriteConditions {
    let match: EntityTags?
    let key: ReplayWindow.Key?
    /// Whether nothing is told of the state: the client wants it so, or may not read.
    let wantsMinimal: Bool
    /// Whether there is at most one key, of 1 to 255 bytes.
    private let isWellFormed: Bool

    init(_ call: Call) {
        match = EntityTags(call.head, "if-match")
        wantsMinimal =
            !call.identity.has(.read, session: call.session)
            || call.head.preferences.contains { $0.name == "return" && $0.value == "minimal" }
        let keys = call.head.values(of: "idempotency-key")
        isWellFormed = keys.count <= 1 && keys.allSatisfy { (1...255).contains($0.utf8.count) }
        key = keys.first.map { ReplayWindow.Key(writer: call.identity.name, key: $0) }
    }

    /// Once the body is there: what is wrong with the body as a whole is said first.
    func check() throws(Problem) {
        guard isWellFormed else { throw .malformed("an Idempotency-Key has 1 to 255 bytes, and there is at most one") }
    }

    /// The write that this one repeats, if its key was seen before.
    func replayed(_ session: Session, _ fingerprint: RequestFingerprint?) throws(Problem) -> ReplayWindow.Entry? {
        guard let key, let entry = session.replays.entry(key, at: .now) else { return nil }
        guard entry.fingerprint == fingerprint else {
            throw Problem(.idempotencyKeyReused, "the key \"\(key.key)\" stands for another request")
        }
        return entry
    }

    /// Whether the head is what `If-Match` names, where it names anything.
    func isMet(_ head: Revision, _ call: Call) throws(Problem) -> Bool {
        try EntityTags.required(match, call)?.matches(head) ?? true
    }

    func remember(_ session: inout Session, status: Int, before: Revision?, _ fingerprint: RequestFingerprint?) {
        guard let key, let fingerprint else { return }
        var replays = session.replays
        replays.remember(.init(fingerprint: fingerprint, status: status, before: before, done: .now), by: key)
        session = session.with(replays: replays)
    }
}

extension RequestFingerprint {
    /// Of a body, and of where the list stands in it; by the store's hash, so that all who share sessions agree.
    init(_ body: borrowing some Collection<UInt8>, shape parameters: Parameters, by hash: KeyedHash) {
        var state = body.withContiguousStorageIfAvailable { hash.digest(of: UnsafeRawBufferPointer($0)) } ?? 0
        for item in parameters.all(Parameters.pointers).sorted(by: { $0.name < $1.name }) {
            let text = Array("\(state) \(item.name)=\(item.value)".utf8)
            state = text.withUnsafeBytes { hash.digest(of: $0) }
        }
        value = state
    }
}
