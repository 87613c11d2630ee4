import HTTPCore
import SnapshotKit
import Testing

@testable import DiffSessions
@testable import DiffUpstream

@Suite struct AdoptSourceTests {
    private let settings = Session.Settings(timeToLive: .seconds(60), ignored: [])
    private let transition = SessionTransition(name: "s", bounds: .init(), hash: .digests("tests"), now: .now)

    private func adopt(_ json: String, at base: Revision?, _ settings: Session.Settings? = nil) -> AdoptSource {
        let settings = settings ?? self.settings
        let reading = PostedBody.Rules(shape: settings.shape ?? .native, limits: .none, defaults: settings)
        return AdoptSource(
            PostedBody(StateDocument(Array(json.utf8)), reading), base: base, settings: settings)
    }

    private func session(_ json: String) throws -> Session {
        transition.firstSession(try Snapshot(json: json), settings: settings, after: nil, maker: nil)
    }

    @Test func `the first answer makes the session, with the file's settings`() throws {
        var settings = settings
        settings.shape = try StateShape([(.itemsAt, "/data")])
        settings.timeToLive = .seconds(7)
        let operation = adopt(#"{"data":[{"id":1},{"id":2}],"next":"x"}"#, at: nil, settings)
        guard case .swap(let made, _) = try operation.decide(nil, by: transition) else {
            Issue.record("nothing was made")
            return
        }
        #expect(made.head.snapshot.itemCount == 2)
        #expect(made.settings == settings)
    }

    @Test func `an answer of before an edit is dropped`() throws {
        let before = try session(#"["a","b"]"#)
        let edited = transition.session(after: before, try Snapshot(json: #"["b","a"]"#), maker: nil).0
        let late = adopt(#"["a","b"]"#, at: before.head.revision)
        guard case .finish(.overtaken) = try late.decide(edited, by: transition) else {
            Issue.record("the edit was undone")
            return
        }
        // Nor does it restore a deleted session, or replace one created meanwhile.
        guard case .finish(.overtaken) = try late.decide(nil, by: transition),
            case .finish(.overtaken) = try adopt("[]", at: nil).decide(before, by: transition)
        else {
            Issue.record("another session was written")
            return
        }
    }

    @Test func `the same state makes no revision`() throws {
        let before = try session(#"["a","b"]"#)
        guard
            case .finish(.adopted(let session)) = try adopt(#"["a", "b"]"#, at: before.head.revision)
                .decide(before, by: transition)
        else {
            Issue.record("something was written")
            return
        }
        #expect(session === before)
    }

    @Test func `settings that the file changed are taken over`() throws {
        let before = try session(#"["a"]"#)
        var settings = settings
        settings.timeToLive = .seconds(9)
        guard
            case .swap(let next, _) = try adopt(#"["a"]"#, at: before.head.revision, settings)
                .decide(before, by: transition)
        else {
            Issue.record("nothing was written")
            return
        }
        #expect(next.settings.timeToLive == .seconds(9))
        #expect(next.head.revision == before.head.revision)
    }

    @Test(arguments: [#"{"edits":[]}"#, "", "<html>", #"{"error":"no"}"#, "[1,1]"])
    func `what is no state is an error`(json: String) {
        #expect(throws: SessionError.self) { try adopt(json, at: nil).decide(nil, by: transition) }
    }
}
