import SnapshotKit
import Testing

@testable import DiffClock
@testable import DiffSessions

/// Edits that need somebody's consent.
@Suite struct ConsentTests {
    private let settings = Session.Settings(timeToLive: .seconds(60), ignored: [])
    private let transition = SessionTransition(name: "s", bounds: .init(), hash: .digests("tests"), now: .now)

    /// An owner that consents when told to.
    private final class Owner: Consent {
        private let agreed = Locked<Revision?>(nil)

        var given: Revision? { agreed.withLock { $0 } }
        func agree(to revision: Revision) { agreed.withLock { $0 = revision } }

        func proceed(at revision: Revision, edits body: ArraySlice<UInt8>) -> Progress<Void, ConsentFailure> {
            .done(.success(()))
        }
    }

    private func session(_ json: String) throws -> Session {
        transition.firstSession(try Snapshot(json: json), settings: settings, after: nil, maker: nil)
    }

    private func edits(
        _ batch: String, _ owner: Owner, _ condition: WriteCondition = .init(), key: String? = nil
    ) throws -> ChangeSession {
        ChangeSession(
            PostedBody(json: batch, settings), condition: condition,
            key: key.map { ReplayWindow.Key(writer: "w", key: $0) }, fingerprint: RequestFingerprint(value: 7),
            consent: owner)
    }

    private let removal = #"{"edits":[{"op":"delete","items":["a"]}]}"#
    /// Cannot be applied without `a`.
    private let move = #"{"edits":[{"op":"move","items":["a"],"before":"b"}]}"#

    @Test func `edits are asked about behind every check, and committed behind that`() throws {
        let (session, owner) = (try session(#"["a","b"]"#), Owner())
        let operation = try edits(removal, owner)
        guard case .ask(let revision, let text) = try operation.decide(session, by: transition) else {
            Issue.record("nobody was asked")
            return
        }
        #expect(revision == session.head.revision)
        #expect(String(decoding: text, as: UTF8.self) == removal)
        owner.agree(to: revision)
        guard case .swap(let next, .changed) = try operation.decide(session, by: transition) else {
            Issue.record("nothing was committed")
            return
        }
        #expect(next.head.snapshot.itemCount == 1)
    }

    @Test func `nobody is asked about edits that cannot be applied`() throws {
        let (session, owner) = (try session(#"["b"]"#), Owner())
        #expect(throws: SessionError.self) { try edits(move, owner).decide(session, by: transition) }
        let condition = WriteCondition(match: RevisionTags(isAny: false, texts: ["9-0000000000000000"]))
        let other = try self.session(#"["a"]"#)
        #expect(throws: SessionError.self) { try edits(removal, owner, condition).decide(other, by: transition) }
    }

    @Test func `what was agreed to counts whatever else has come meanwhile`() throws {
        let (before, owner) = (try session(#"["a","b"]"#), Owner())
        let head = transition.session(after: before, try Snapshot(json: #"["a","b","c"]"#), maker: nil).0
        owner.agree(to: before.head.revision)
        let condition = WriteCondition(match: RevisionTags(isAny: false, texts: [before.head.revision.text]))
        guard case .swap(let next, .changed) = try edits(removal, owner, condition).decide(head, by: transition) else {
            Issue.record("nothing was committed")
            return
        }
        #expect(next.head.snapshot.itemCount == 2)
    }

    @Test func `what applies no more is dropped, and told as a change of others`() throws {
        let (before, owner) = (try session(#"["a","b"]"#), Owner())
        let head = transition.session(after: before, try Snapshot(json: #"["b"]"#), maker: nil).0
        owner.agree(to: before.head.revision)
        guard
            case .finish(.repeated(let session, made: false, let from)) = try edits(move, owner)
                .decide(head, by: transition)
        else {
            Issue.record("it was no drop")
            return
        }
        #expect(session === head)
        #expect(from == before.head.revision)
        // With a key, a retry is answered with the drop.
        guard case .swap(let remembering, .repeated) = try edits(move, owner, key: "k").decide(head, by: transition)
        else {
            Issue.record("the key was forgotten")
            return
        }
        guard case .finish(.repeated) = try edits(move, Owner(), key: "k").decide(remembering, by: transition) else {
            Issue.record("somebody was asked again")
            return
        }
    }
}
