import HTTPCore
import SnapshotKit
import Testing

@testable import DiffSessions
@testable import DiffUpstream

@Suite struct AdoptSourceTests {
    private let settings = Session.Settings(timeToLive: .seconds(60), ignored: [])
    private let transition = SessionTransition(name: "s", bounds: .init(), hash: .digests("tests"), now: .now)

    private func adopt(_ json: String, at base: Session?, _ settings: Session.Settings? = nil) -> AdoptSource {
        let settings = settings ?? self.settings
        let reading = PostedBody.Rules(shape: settings.shape ?? .native, limits: .none, defaults: settings)
        return AdoptSource(
            body: PostedBody(StateDocument(Array(json.utf8)), reading),
            base: base.map { SourceBase($0.revision, $0.fetchGround, SourceName("s")) }, settings: settings)
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
        let late = adopt(#"["a","b"]"#, at: before)
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
            case .finish(.adopted(let session, _)) = try adopt(#"["a", "b"]"#, at: before)
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
            case .swap(let next, _) = try adopt(#"["a"]"#, at: before, settings)
                .decide(before, by: transition)
        else {
            Issue.record("nothing was written")
            return
        }
        #expect(next.settings.timeToLive == .seconds(9))
        #expect(next.head.revision == before.head.revision)
    }

    /// The session after answers, each read by a guessed shape.
    private func guessed(_ answers: [String]) throws -> [Session] {
        var sessions: [Session] = []
        for json in answers {
            let body = PostedBody(StateDocument(Array(json.utf8)), .init(limits: .none, defaults: settings))
            let before = sessions.last
            let base = before.map { SourceBase($0.revision, $0.fetchGround, SourceName("s")) }
            let operation = AdoptSource(body: body, base: base, settings: settings, guessesShape: true)
            switch try operation.decide(before, by: transition) {
            case .swap(let next, _), .finish(.adopted(let next, _)): sessions.append(next)
            default: Issue.record("\(json) was not adopted")
            }
        }
        return sessions
    }

    @Test func `a shape is guessed of three answers that differ, and then settled`() throws {
        let sessions = try guessed([
            "[]", #"[{"id":1,"n":1}]"#, #"[{"id":1,"n":1}]"#, "[]", #"[{"id":1,"n":2}]"#, #"[{"id":1,"n":3}]"#,
            #"[{"id":1,"n":4},{"id":1,"n":5},{"n":6}]"#,
        ])
        #expect(sessions.map(\.settings.guessedAnswers) == [0, 1, 1, 1, 2, 3, 3])
        #expect(sessions.map(\.head.snapshot.itemCount) == [0, 1, 1, 0, 1, 1, 1])
        #expect(sessions.allSatisfy { $0.startedOverAt == 0 })
        var settled = StateShape.FieldMapping()
        settled.keepsFirst = true
        #expect(
            sessions.map(\.settings.shape) == [nil] + .init(repeating: StateShape(StateShape.FieldMapping()), count: 4)
                + .init(repeating: StateShape(settled), count: 2))
    }

    @Test func `a state stays one, whatever is wrong with its elements`() throws {
        let sessions = try guessed([
            #"[{"id":1,"content":1}]"#, #"[{"id":1,"content":2},{"id":1,"content":3}]"#, #"[{"id":1,"content":4}]"#,
            #"[{"id":1,"content":5},{"id":1,"content":6},{"content":7},{"id":2,"due":8}]"#,
        ])
        #expect(sessions.map(\.settings.guessedAnswers) == [1, 2, 3, 3])
        #expect(sessions.map(\.head.snapshot.itemCount) == [1, 1, 1, 2])
        #expect(sessions.allSatisfy { $0.startedOverAt == 0 && $0.settings.shape == nil })
    }

    @Test func `a correction starts the session over`() throws {
        let sessions = try guessed([#"[{"id":1,"n":1}]"#, #"[{"id":1,"n":2},{"id":1,"n":3}]"#, #"[{"n":4}]"#, "[]"])
        #expect(sessions.map(\.startedOverAt) == [0, 2, 2, 2])
        #expect(sessions.map { $0.settings.shape?.mapping?.element.continuesHead } == [false, true, true, true])
        #expect(sessions.last?.settings.guessedAnswers == 3)
    }

    @Test(arguments: [#"{"edits":[]}"#, "", "<html>", #"{"error":"no"}"#, "[1,1]"])
    func `what is no state is an error`(json: String) {
        #expect(throws: SessionError.self) { try adopt(json, at: nil).decide(nil, by: transition) }
    }

    // MARK: Sections

    private let outlines = [
        SectionOutline(id: "a", content: JSONText(accepted: Array("1".utf8))), SectionOutline(id: "b"),
    ]

    /// The fetch of one section, begun at a session.
    private func fetch(_ section: String, _ json: String, at base: Session?) -> AdoptSource {
        let rules = PostedBody.Rules(
            shape: .native, limits: .none, defaults: settings, section: .init(id: section, scopesIDs: true))
        return AdoptSource(
            body: PostedBody(StateDocument(Array(json.utf8)), rules),
            base: base.map { SourceBase($0.revision, $0.fetchGround, SourceName("s", section: section)) },
            settings: settings, outlines: outlines)
    }

    /// The session after an operation; nil if another write came first.
    private func result(_ operation: AdoptSource, _ session: Session?) throws -> Session? {
        switch try operation.decide(session, by: transition) {
        case .swap(let next, _): next
        case .finish(.adopted(let same, _)): same
        default: nil
        }
    }

    @Test func `all sections stand from the first answer, in the file's order`() throws {
        let first = try #require(try result(fetch("b", #"["x"]"#, at: nil), nil))
        #expect(
            String(decoding: first.head.snapshot.documentJSON(), as: UTF8.self)
                == #"{"sections":[{"id":"a","content":1,"items":[]},{"id":"b","items":[{"id":"b/x"}]}]}"#)
        // One that began before there was a session.
        let second = try #require(try result(fetch("a", #"["x"]"#, at: nil), first))
        #expect(second.head.snapshot.itemCount == 2)
    }

    @Test func `fetches follow each other, but no other write`() throws {
        let first = try #require(try result(fetch("a", #"["x"]"#, at: nil), nil))
        let second = try #require(try result(fetch("b", #"["y"]"#, at: first), first))
        let third = try #require(try result(fetch("a", #"["x","z"]"#, at: first), second))
        #expect(third.head.snapshot.itemCount == 3 && third.fetchGround == first.fetchGround)
        let edited = transition.session(after: third, try Snapshot(json: #"["e"]"#), maker: nil).0
        for base in [nil, first, third] { #expect(try result(fetch("a", "[]", at: base), edited) == nil) }
        let next = try #require(try result(fetch("a", "[]", at: edited), edited))
        #expect(next.fetchGround == edited.fetchGround && next.fetchGround != third.fetchGround)
        for base in [nil, third] { #expect(try result(fetch("b", "[]", at: base), next) == nil) }
        #expect(try result(fetch("b", "[]", at: edited), next) != nil)
        // A session that was made again, and one that is gone.
        let again = try #require(try result(fetch("a", #"["x"]"#, at: nil), nil))
        #expect(again.head.revision == first.head.revision && again.fetchGround != first.fetchGround)
        #expect(try result(fetch("b", "[]", at: first), again) == nil)
        #expect(try result(fetch("b", "[]", at: first), nil) == nil)
    }

    @Test func `a record has what the fetches build on`() throws {
        let first = try #require(try result(fetch("a", #"["x"]"#, at: nil), nil))
        let record = SessionRecord(first, by: transition.hash)
        let read = try record.session(named: "s", hash: transition.hash, isHead: true)
        #expect(read.fetchGround == first.fetchGround)
    }

    @Test func `sections are brought into the file's order without an answer`() throws {
        let before = try session(#"{"sections":[{"id":"b","items":["x"]},{"id":"old","items":["y"]}]}"#)
        let arrangement = AdoptSource(body: nil, base: nil, settings: settings, outlines: outlines)
        let next = try #require(try result(arrangement, before))
        #expect(
            String(decoding: next.head.snapshot.documentJSON(), as: UTF8.self)
                == #"{"sections":[{"id":"a","content":1,"items":[]},{"id":"b","items":[{"id":"x"}]}]}"#)
        #expect(try result(arrangement, nil) == nil)
    }
}
