import SnapshotKit

/// The body of a POST to `changes`. An object, since it goes through many hands on its way.
final class ChangesRequest: Sendable {
    enum Content: Sendable {
        case state(Snapshot, Likeness?)
        case edits(EditBatch)
    }

    let content: Content
    /// The whole body, where it holds edits.
    let edits: ArraySlice<UInt8>?
    /// For a session that the request makes.
    let settings: Session.Settings
    private let limits: StateLimits

    /// - Parameters:
    ///   - known: a state that a new one most likely resembles.
    ///   - takesStates: whether the writer may send states; from others only edits are read.
    init(
        posting body: consuming [UInt8], _ shape: StateShape, known: Snapshot? = nil, takesStates: Bool = true,
        limits: StateLimits, defaults: Session.Settings
    ) throws(Problem) {
        self.limits = limits
        guard shape == .native else {
            if !takesStates { throw .statesNeedKey }
            content = .state(try Snapshot.read(body, shape, limits), nil)
            edits = nil
            settings = defaults
            return
        }
        let envelope = try Self.envelope(body, takesStates, known, limits)
        if envelope.isBareState || envelope.values["edits"] != nil,
            let name = ["ttl", "ignore"].first(where: { envelope.values[$0] != nil })
        {
            throw .wrongMember("/" + name, "\(name) goes with \"state\", in the request that makes the session")
        }
        settings = try Session.Settings(envelope, defaults: defaults)
        if let edits = envelope.values["edits"] {
            self.edits = envelope.text
            content = .edits(try Self.batch(edits, limits))
        } else {
            edits = nil
            content = .state(envelope.states["state"]!, envelope.likeness)
        }
    }

    private static let members = Envelope.Members(
        states: ["state"], values: ["edits", "ttl", "ignore"], exactlyOne: ["state", "edits"], allowsBareState: true)

    private static func envelope(
        _ body: consuming [UInt8], _ takesStates: Bool, _ known: Snapshot?, _ limits: StateLimits
    ) throws(Problem) -> Envelope {
        var members = members
        members.refusesStates = !takesStates
        do throws(StateError) { return try Envelope(json: body, members: members, limits: limits, known: known) } catch
        {
            throw Problem(error)
        }
    }

    private static func batch(_ edits: JSONSlice, _ limits: StateLimits) throws(Problem) -> EditBatch {
        do throws(EditError) { return try EditBatch(edits, limits: limits) } catch { throw Problem(error) }
    }

    /// Whether the head is what this request makes: it equals the state, or a body with these edits made it.
    func leads(to before: Session, _ writing: Writing, _ fingerprint: RequestFingerprint?) throws(Problem) -> Bool {
        switch content {
        case .state: try session(after: before, writing, fingerprint).0.head.revision == before.head.revision
        case .edits: fingerprint != nil && before.head.maker == fingerprint
        }
    }

    /// What follows a session when this is done to it.
    func session(
        after before: Session, _ writing: Writing, _ fingerprint: RequestFingerprint?
    ) throws(Problem) -> (Session, Changeset) {
        switch content {
        case .state(let state, let likeness): return writing.session(after: before, state, likeness, maker: fingerprint)
        case .edits(let batch):
            do throws(EditError) {
                let (snapshot, marks) = try before.head.snapshot.applying(batch, limits: limits)
                return writing.session(after: before, snapshot, marks: marks, maker: fingerprint)
            } catch { throw Problem(error) }
        }
    }
}

extension Snapshot {
    /// The state in a body.
    static func read(_ body: consuming [UInt8], _ shape: StateShape, _ limits: StateLimits) throws(Problem) -> Snapshot
    {
        do throws(StateError) { return try Snapshot(json: body, shape: shape, limits: limits) } catch {
            throw Problem(error)
        }
    }
}
