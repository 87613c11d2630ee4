import Foundation
import SnapshotKit
import Testing

@testable import DiffClient

@Suite("How a loop asks, as a value")
struct AskingTests {
    /// A client without random pauses: at most a second after a failure, and at least half of that.
    private static func following(
        hasList: Bool = true, polls: Bool = false, every interval: TimeInterval? = nil
    ) throws -> Following {
        var client = ListClient(url: try #require(URL(string: "http://localhost")), session: "list")
        (client.polls, client.pollInterval) = (polls, interval)
        return Following(client, hasList: hasList)
    }

    private static let missing = ServerProblem(status: 404, title: "Missing")

    @Test("without a list, and where streams do not get through, it polls; later it tries a stream again")
    func heldBack() throws {
        var asked = try Self.following(hasList: false)
        #expect(try asked.next(at: 0) == .ask(.poll(0)))
        #expect(try asked.next(at: 1) == .wait(until: .infinity))
        #expect(asked.readTime == 0)
        asked.succeeded(at: 1, isNews: true)
        #expect(try asked.next(at: 1) == .ask(.stream))
        #expect(asked.readTime == nil)
        // A stream speaks at once. If not, the session may not exist.
        #expect(try asked.next(at: 1) == .wait(until: 3))
        #expect(try asked.next(at: 3) == .ask(.poll(0)))
        asked.succeeded(at: 3, isNews: false)
        #expect(try asked.next(at: 3) == .ask(.stream))
        #expect(try asked.next(at: 4) == .wait(until: 8))
        for poll in 0..<5 {
            #expect(try asked.next(at: 8 + Double(poll)) == .ask(.poll(25)))
            asked.succeeded(at: 8 + Double(poll), isNews: true)
        }
        #expect(try asked.next(at: 13) == .ask(.stream))
        asked.streamsAreHeldBack()
        #expect(try asked.next(at: 13) == .ask(.poll(25)))
    }

    @Test("a stream that has spoken is given up when it is silent for long")
    func silence() throws {
        var asked = try Self.following()
        #expect(try asked.next(at: 0) == .ask(.stream))
        asked.succeeded(at: 1, isNews: true)
        #expect(try asked.next(at: 10, lastHeard: 9) == .wait(until: 54))
        // A late loop first reads what has arrived.
        #expect(try asked.next(at: 99, lastHeard: 9, hasNews: true) == .wait(until: 99))
        let problem = #expect(throws: ServerProblem.self) { try asked.next(at: 54, lastHeard: 9) }
        #expect(problem?.title == "The server fell silent")
        // An overrun ends with a new request.
        asked.isOverrun()
        #expect(try asked.next(at: 54, lastHeard: 9) == .ask(.stream))
    }

    @Test("an edit that was answered is soon asked for", arguments: [false, true])
    func behind(polls: Bool) throws {
        var asked = try Self.following(polls: polls)
        #expect(try asked.next(at: 0) == .ask(polls ? .poll(25) : .stream))
        if !polls { asked.succeeded(at: 0, isNews: true) }
        #expect(try asked.next(at: 4, isBehind: true, lastHeard: 4) == .wait(until: 4.25))
        #expect(try asked.next(at: 4.25, isBehind: true, lastHeard: 4) == .ask(.poll(0)))
        #expect(asked.readTime == 4.25)
        asked.succeeded(at: 5, isNews: true)
        #expect(try asked.next(at: 5, isBehind: true, lastHeard: nil) == .ask(.poll(0)))
        asked.succeeded(at: 5, isNews: true)
        #expect(try asked.next(at: 5) == .ask(polls ? .poll(25) : .stream))
    }

    @Test("reconnecting ends a pause, unless the server named it")
    func pauses() throws {
        let once: Following.Terms = (nil, 1)
        for retryAfter in [nil, 60.0] {
            var asked = try Self.following()
            #expect(try asked.next(at: 0) == .ask(.stream))
            let problem = ServerProblem(status: 503, title: "Down", retryAfter: retryAfter)
            let pause = asked.failed(by: problem, at: 0, hasList: true)
            #expect((retryAfter ?? 0) + 0.5...(retryAfter ?? 0) + 1 ~= pause)
            #expect(try asked.next(at: 0.1) == .wait(until: pause))
            #expect(try asked.next(at: 0.1, once) == (retryAfter == nil ? .ask(.stream) : .wait(until: pause)))
        }
    }

    @Test("an answered edit, other rows and reconnecting do not wait for the next poll")
    func interval() throws {
        var asked = try Self.following(every: 100)
        var terms: Following.Terms = (nil, 0)
        func pauses(at now: TimeInterval, isBehind: Bool) throws -> Bool {
            guard case .wait(let end) = try asked.next(at: now, terms, isBehind: isBehind) else { return false }
            return 80...110 ~= end - now
        }
        #expect(try asked.next(at: 0) == .ask(.poll(0)))
        asked.succeeded(at: 1, isNews: true)
        #expect(try pauses(at: 1, isBehind: false))
        // A cache may not have the edit yet: then it is due with the next poll.
        for answered in [2.0, 4.0] {
            #expect(try asked.next(at: answered, isBehind: true) == .ask(.poll(0)))
            asked.succeeded(at: answered + 1, isNews: true)
            #expect(try pauses(at: answered + 1, isBehind: answered == 2))
            #expect(try pauses(at: answered + 1, isBehind: false))
        }
        terms.rows = StateWindow(.start)
        #expect(try asked.next(at: 6, terms) == .ask(.poll(0)))
        asked.succeeded(at: 6, isNews: true)
        #expect(try pauses(at: 6, isBehind: false))
        terms.reconnections = 1
        #expect(try asked.next(at: 7, terms) == .ask(.poll(0)))
    }

    @Test("a missing session is asked for at once, and then waited for")
    func missing() throws {
        var asked = try Self.following(hasList: false)
        #expect(try asked.next(at: 0) == .ask(.poll(0)))
        #expect(asked.failed(by: Self.missing, at: 0, hasList: false) == 0)
        // The stream waits for the session in silence.
        #expect(try asked.next(at: 0) == .ask(.stream))
        #expect(try asked.next(at: 1, lastHeard: 1) == .wait(until: 46))
        #expect(asked.failed(by: Self.missing, at: 2, hasList: false) >= 1)
    }

    @Test("other rows, and a client that reconnects, have another request")
    func terms() throws {
        var asked = try Self.following()
        var terms: Following.Terms = (nil, 0)
        #expect(try asked.next(at: 0, terms) == .ask(.stream))
        terms.rows = StateWindow(.start)
        #expect(try asked.next(at: 0, terms) == .ask(.stream))
        terms.reconnections = 1
        #expect(try asked.next(at: 0, terms) == .ask(.stream))
        #expect(try asked.next(at: 0, terms) == .wait(until: 2))
    }

    @Test("it does not spin where requests are not held")
    func spinning() throws {
        var asked = try Self.following(polls: true)
        #expect(try asked.next(at: 0) == .ask(.poll(25)))
        asked.succeeded(at: 0.5, isNews: false)
        guard case .wait(let end) = try asked.next(at: 0.5) else {
            Issue.record("it asks again at once")
            return
        }
        #expect(1...1.5 ~= end)
        #expect(try asked.next(at: end) == .ask(.poll(25)))
        asked.succeeded(at: end + 25, isNews: false)
        #expect(try asked.next(at: end + 25) == .ask(.poll(25)))
    }
}

extension Following {
    fileprivate mutating func next(
        at now: TimeInterval, _ terms: Terms = (nil, 0), isBehind: Bool = false, lastHeard: TimeInterval? = nil,
        hasNews: Bool = false
    ) throws(ServerProblem) -> Step {
        try step(at: now, terms, isBehind: isBehind, lastHeard: lastHeard, hasNews: hasNews)
    }
}
