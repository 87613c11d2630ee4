import SnapshotKit
import Testing

@testable import DiffClock
@testable import DiffSessions

/// The results of operations on sessions, without a store.
@Suite struct OperationTests {
    private let start = Instant.now
    private let settings = Session.Settings(timeToLive: .seconds(60), ignored: [])

    private func transition(after seconds: Int = 0) -> SessionTransition {
        SessionTransition(
            name: "s", bounds: .init(), hash: .digests("tests"), now: start + .seconds(seconds))
    }

    /// A session that went through these states.
    private func session(_ states: String...) throws -> Session {
        let first = try Snapshot(json: states[0])
        var session = transition().firstSession(first, settings: settings, after: nil, maker: nil)
        for state in states.dropFirst() {
            session = transition().session(after: session, try Snapshot(json: state), maker: nil).0
        }
        return session
    }

    private func tags(_ texts: String...) -> RevisionTags { RevisionTags(isAny: texts == ["*"], texts: texts) }

    private func post(
        _ state: String, _ condition: WriteCondition = .init(), key: String? = nil, fingerprint: UInt64? = nil
    ) throws -> ChangeSession {
        ChangeSession(
            PostedBody(json: state, settings), condition: condition,
            key: key.map { ReplayWindow.Key(writer: "w", key: $0) },
            fingerprint: fingerprint.map(RequestFingerprint.init))
    }

    private func edits(_ batch: String, _ condition: WriteCondition = .init(), fingerprint: UInt64) throws
        -> ChangeSession
    {
        ChangeSession(
            PostedBody(json: #"{"edits":\#(batch)}"#, settings), condition: condition, key: nil,
            fingerprint: RequestFingerprint(value: fingerprint))
    }

    private func section(_ id: String, _ document: String, _ condition: WriteCondition, fingerprint: UInt64 = 9)
        -> ChangeSession
    {
        let rules = PostedBody.Rules(
            limits: .none, defaults: settings, section: PostedBody.SectionTarget(id: id, scopesIDs: nil))
        return ChangeSession(
            PostedBody(StateDocument(Array(document.utf8)), rules), condition: condition, key: nil,
            fingerprint: RequestFingerprint(value: fingerprint))
    }

    /// A decision in words.
    private func words<Outcome>(_ decide: () throws -> Decision<Outcome>) -> String {
        do {
            switch try decide() {
            case .finish(let outcome): return "finish \(words(outcome))"
            case .swap(let next, let outcome): return "swap \(next.head.revision.sequence) \(words(outcome))"
            case .ask(let revision, _): return "ask at \(revision.sequence)"
            case .delete(let revision, _): return "delete \(revision.map { "at \($0.sequence)" } ?? "whatever")"
            }
        } catch SessionError.noSession(let name) {
            return "no session \(name)"
        } catch SessionError.mismatch(let current) {
            return "mismatch \(current.map { "\($0.sequence)" } ?? "nothing")"
        } catch SessionError.conditionRequired {
            return "condition required"
        } catch SessionError.exists(let revision) {
            return "exists \(revision.sequence)"
        } catch SessionError.keyReused(let key) {
            return "key \(key) reused"
        } catch SessionError.edits {
            return "edits refused"
        } catch { return "\(error)" }
    }

    private func words(_ outcome: Any) -> String {
        switch outcome {
        case let outcome as ChangeSession.Outcome:
            switch outcome {
            case .made: "made"
            case .changed(let after, let changeset, let from):
                "\(from.sequence)-\(after.head.revision.sequence) in \(changeset.counts.total)"
            case .repeated(_, let made, let from): "again, \(made ? "made" : "from \(from?.sequence ?? 0)")"
            }
        case let (session, isNew) as ReplaceSession.Outcome: "\(isNew ? "new " : "")\(session.head.revision.sequence)"
        case let session as Session: "\(session.head.revision.sequence)"
        default: ""
        }
    }

    // MARK: Reading

    @Test func `a reader gets the head`() throws {
        let session = try session("[1]", "[1,2]", "[1,2,3]")
        for (expected, session) in [("no session s", nil), ("finish 3", session)] {
            #expect(words { try ReadSession().decide(session, by: transition()) } == expected)
        }
    }

    // MARK: Removing

    @Test func `a session is taken away at the revision that is named`() throws {
        let session = try session("[1]", "[2]")
        let text = session.head.revision.text
        let rows: [(String, Session?, WriteCondition)] = [
            ("finish ", nil, .init()), ("finish ", nil, .init(match: tags("1-0000000000000000"))),
            ("delete whatever", session, .init()), ("delete at 2", session, .init(match: tags(text))),
            ("delete at 2", session, .init(match: tags("*"))), ("condition required", session, .init(isRequired: true)),
            ("mismatch 2", session, .init(match: tags("1-0000000000000000"))),
        ]
        for (expected, session, condition) in rows {
            #expect(words { try RemoveSession(condition: condition).decide(session, by: transition()) } == expected)
        }
        #expect(RemoveSession(condition: .init()).replacesDamaged)
        #expect(!RemoveSession(condition: .init(noneMatch: tags("*"))).replacesDamaged)
    }

    // MARK: Starting over

    @Test func `a session is started over, or made, as its conditions say`() throws {
        let session = try session("[1]", "[2]")
        let (text, parent) = (session.head.revision.text, try #require(session.head.parent).text)
        let rows: [(String, Session?, String, WriteCondition)] = [
            ("swap 1 new 1", nil, "[9]", .init()), ("mismatch nothing", nil, "[9]", .init(match: tags(text))),
            ("swap 1 new 1", nil, "[9]", .init(noneMatch: tags("*"))), ("swap 3 3", session, "[9]", .init()),
            ("swap 3 3", session, "[9]", .init(match: tags(text))),
            ("exists 2", session, "[9]", .init(noneMatch: tags("*"))),
            ("mismatch 2", session, "[9]", .init(match: tags(parent))),
            // A retry after a lost answer.
            ("finish 2", session, "[2]", .init(match: tags(parent))),
            ("condition required", session, "[9]", .init(isRequired: true)),
            ("swap 1 new 1", nil, "[9]", .init(isRequired: true)),
        ]
        for (expected, session, state, condition) in rows {
            let put = ReplaceSession(state: try Snapshot(json: state), settings: settings, condition: condition)
            #expect(words { try put.decide(session, by: transition()) } == expected, "\(state) \(condition)")
        }
    }

    @Test func `without a state settings are changed, and a session is made of none`() throws {
        let session = try session("[1]", "[2]")
        let (text, parent) = (session.head.revision.text, try #require(session.head.parent).text)
        let (other, same) = (Session.SettingsChange(keepsExpanded: true), Session.SettingsChange(ignored: []))
        let rows: [(String, Session?, Session.SettingsChange, WriteCondition)] = [
            ("swap 2 2", session, other, .init()), ("finish 2", session, same, .init()),
            ("finish 2", session, .init(), .init()), ("swap 2 2", session, other, .init(match: tags(text))),
            ("swap 2 2", session, other, .init(match: tags("*"))),
            ("exists 2", session, other, .init(noneMatch: tags("*"))),
            // A change of settings that leaves the head unchanged did not make it, so this is no retry.
            ("mismatch 2", session, other, .init(match: tags(parent))),
            ("mismatch 2", session, .init(), .init(match: tags(parent))),
            ("condition required", session, other, .init(isRequired: true)),
            ("swap 1 new 1", nil, other, .init()), ("swap 1 new 1", nil, .init(), .init(noneMatch: tags("*"))),
            ("mismatch nothing", nil, other, .init(match: tags("*"))),
        ]
        for (index, (expected, session, named, condition)) in rows.enumerated() {
            let put = ReplaceSession(
                state: nil, settings: named.applied(to: settings), named: named, condition: condition)
            #expect(words { try put.decide(session, by: transition()) } == expected, "\(index)")
            #expect(!put.replacesDamaged)
        }
    }

    @Test func `settings that are not named stay, with all but them`() throws {
        let before = try session("[1]", "[2]")
        let shape = StateShape.pointers(idAt: JSONPointer("/k"))
        let changes: [(Session.SettingsChange, (inout Session.Settings) -> Void)] = [
            (.init(timeToLive: .seconds(5)), { $0.timeToLive = .seconds(5) }),
            (.init(shape: shape), { $0.shape = shape }), (.init(shape: .native), { $0.shape = nil }),
            (.init(keepsExpanded: true), { $0.keepsExpanded = true }),
            (.init(isPublic: true), { $0.isPublic = true }),
            (.init(ignored: [JSONPointer("/a")!]), { ($0.ignored, $0.digestEpoch) = ([JSONPointer("/a")!], 1) }),
            (
                .init(timeToLive: .seconds(6), keepsExpanded: false),
                { ($0.timeToLive, $0.keepsExpanded) = (.seconds(6), false) }
            ),
        ]
        var (session, expected) = (before, settings)
        for (named, change) in changes {
            change(&expected)
            let put = ReplaceSession(state: nil, settings: settings, named: named, condition: .init())
            guard case .swap(let next, _) = try put.decide(session, by: transition()) else {
                Issue.record("nothing changed")
                return
            }
            session = next
            #expect(session.settings == expected && session.head.revision == before.head.revision)
            #expect(session.head.snapshot.documentJSON() == before.head.snapshot.documentJSON())
            #expect(session.history.entries.map(\.revision) == before.history.entries.map(\.revision))
        }
    }

    @Test func `what is ignored from now on is left out of what comes, and no digest of before is taken for another`()
        throws
    {
        let row = { (text: Int, seen: Int?) in
            "[{\"id\":1,\"content\":{\"text\":\(text)\(seen.map { ",\"seen\":\($0)" } ?? "")}}]"
        }
        let settle = { (session: Session, ignored: [String]) in
            var settings = session.settings
            settings.ignored = ignored.compactMap { JSONPointer($0) }
            return self.transition().session(session, settled: settings)
        }
        let after = { (session: Session, state: String) in
            self.transition().session(after: session, try Snapshot(json: state), maker: nil).0
        }
        var session = settle(try self.session(row(1, 1)), ["/seen"])
        #expect(try after(session, row(1, 2)) === session)
        #expect(try after(session, row(1, nil)) === session)
        // The place counts again, so digests from the time when it was ignored must not recur.
        let first = session.head.revision
        session = settle(session, [])
        #expect(session.head.revision == first)
        #expect(try after(session, row(1, 1)) === session)
        let second = try after(session, row(1, nil))
        #expect(second.head.revision.sequence == 2 && second.head.revision.digest != first.digest)
        let ignoring = try self.session(row(1, nil))
        #expect(second.head.revision.digest != ignoring.head.revision.digest)
        // A revision that advances by marks alone keeps its digest, and so does its entry in the history.
        let marks = try second.head.snapshot.applying(EditBatch(json: #"[{"op":"reload","items":[1]}]"#)).marks
        let settled = settle(second, ["/seen"])
        let marked = transition().session(after: settled, settled.head.snapshot, marks: marks, maker: nil).0
        #expect(marked.head.revision.sequence == 3 && marked.head.revision.digest == second.head.revision.digest)
        #expect(marked.history.entries.map(\.revision) == [first, second.head.revision])
    }

    // MARK: Changing

    @Test func `a state follows the head, and an equal one changes nothing`() throws {
        let session = try session("[1]", "[1,2]")
        let (text, parent) = (session.head.revision.text, try #require(session.head.parent).text)
        let rows: [(String, Session?, ChangeSession)] = [
            ("swap 1 made", nil, try post("[1]")), ("mismatch nothing", nil, try post("[1]", .init(match: tags(text)))),
            ("no session s", nil, try edits(#"[{"op":"delete","items":[1]}]"#, fingerprint: 5)),
            ("swap 3 2-3 in 1", session, try post("[1,2,3]")), ("finish 2-2 in 0", session, try post("[1,2]")),
            ("condition required", session, try post("[1]", .init(isRequired: true))),
            ("swap 3 2-3 in 1", session, try post("[1]", .init(match: tags(text)))),
            ("mismatch 2", session, try post("[1]", .init(match: tags(parent)))),
            // A retry after a lost answer.
            ("finish again, from 1", session, try post("[1,2]", .init(match: tags(parent)))),
            ("swap 3 2-3 in 1", session, try edits(#"[{"op":"delete","items":[1]}]"#, fingerprint: 5)),
            ("edits refused", session, try edits(#"[{"op":"reload","items":[7]}]"#, fingerprint: 5)),
        ]
        for (index, (expected, session, write)) in rows.enumerated() {
            #expect(words { try write.decide(session, by: transition()) } == expected, "row \(index)")
        }
    }

    @Test func `edits that made the head are done, unless they add to what is there`() throws {
        let first = try session(#"[{"id":1,"content":{"n":0}}]"#)
        let rows = [
            (#"[{"op":"update","items":[{"id":1,"patch":{"n":5}}]}]"#, "finish again, from 1"),
            (#"[{"op":"insert","items":[{"id":2}]}]"#, "finish again, from 1"),
            (#"[{"op":"update","items":[{"id":1,"add":{"/n":1}}]}]"#, "mismatch 2"),
            (#"[{"op":"insert","items":[{"id":2}]},{"op":"update","items":[{"id":2,"add":{"/n":1}}]}]"#, "mismatch 2"),
        ]
        for (batch, expected) in rows {
            let write = try edits(batch, .init(match: tags(first.head.revision.text)), fingerprint: 5)
            guard case .swap(let next, _) = try write.decide(first, by: transition()) else {
                Issue.record("nothing was written")
                return
            }
            #expect(words { try write.decide(next, by: transition()) } == expected, "\(batch)")
        }
    }

    /// The rows of one section bring the state with these rows. Whether that is the head follows from the state before.
    @Test func `a section that made the head is done, in whichever words`() throws {
        let first = try session(#"{"sections":[{"id":"a","content":1,"items":[1,2]},{"id":"b","items":[3]}]}"#)
        let condition = WriteCondition(match: tags(first.head.revision.text))
        let write = section("a", "[2]", condition, fingerprint: 5)
        guard case .swap(let next, _) = try write.decide(first, by: transition()) else {
            Issue.record("nothing was written")
            return
        }
        #expect(words { try write.decide(next, by: transition()) } == "finish again, from 1")
        let rows = [
            ("a", " [ 2 ]", "finish again, from 1"), ("a", #"{"items":[{"id":2}]}"#, "finish again, from 1"),
            ("a", #"{"items":[2],"content":1,"expanded":true}"#, "finish again, from 1"), ("a", "[1,2]", "mismatch 2"),
            ("a", #"{"items":[2],"content":2}"#, "mismatch 2"), ("a", "{}", "mismatch 2"),
            // Another section says nothing new now, but is not what was written.
            ("b", "[3]", "mismatch 2"), ("b", "{}", "mismatch 2"), ("c", "[]", "mismatch 2"),
            ("b", "[2]", "mismatch 2"),
        ]
        for (id, document, expected) in rows {
            let other = section(id, document, condition)
            #expect(words { try other.decide(next, by: transition()) } == expected, "\(id) \(document)")
        }
        // Once the state before is forgotten, only the same request is known again.
        let later = transition(after: 2 * 3600)
        #expect(words { try write.decide(next, by: later) } == "finish again, from 1")
        #expect(words { try section("a", "[2] ", condition).decide(next, by: later) } == "mismatch 2")
    }

    @Test func `a key is answered once, and stands for one request`() throws {
        let session = try session("[1]")
        let write = try post("[1,2]", key: "k", fingerprint: 5)
        guard case .swap(let next, _) = try write.decide(session, by: transition()) else {
            Issue.record("nothing was written")
            return
        }
        #expect(words { try write.decide(next, by: transition(after: 1)) } == "finish again, from 1")
        let other = try post("[3]", key: "k", fingerprint: 6)
        #expect(words { try other.decide(next, by: transition(after: 1)) } == "key k reused")
        // Keys are remembered for 600 seconds.
        #expect(words { try other.decide(next, by: transition(after: 601)) } == "swap 3 2-3 in 3")
        // A key is remembered even if nothing changed.
        #expect(
            words { try post("[1]", key: "l", fingerprint: 7).decide(session, by: transition()) } == "swap 1 1-1 in 0")
    }

    @Test func `a write is known again by what it made`() throws {
        let session = try session("[1]")
        let write = try edits(
            #"[{"op":"delete","items":[1]}]"#, .init(match: tags(session.head.revision.text)), fingerprint: 5)
        guard case .swap(let next, _) = try write.decide(session, by: transition()) else {
            Issue.record("nothing was written")
            return
        }
        #expect(words { try write.decide(next, by: transition()) } == "finish again, from 1")
        let other = try edits(
            #"[{"op":"delete","items":[1]}]"#, .init(match: tags(session.head.revision.text)), fingerprint: 6)
        #expect(words { try other.decide(next, by: transition()) } == "mismatch 2")
    }
}
