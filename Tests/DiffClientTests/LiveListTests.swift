import DiffClient
import SnapshotKit
import Testing

@Suite("A list that a view shows", .timeLimit(.minutes(5)))
@MainActor
struct LiveListTests {
    private struct Mail: Codable, Equatable {
        var subject: String
    }

    @Test("it follows, is left, and goes on from what is shown")
    func following() async throws {
        let server = try RunningServer()
        let client = ListClient.hasty(server)
        let mail = Mail(subject: "Hello")
        _ = try await client.post(state: JSONText(#"[{"id":17,"content":\#(JSONText(encoding: mail))}]"#))
        let (updates, continuation) = AsyncStream.makeStream(of: String?.self)
        let inbox = LiveList<Mail?> { update, change in
            change()
            continuation.yield(update.reason)
        }
        var seen = updates.makeAsyncIterator()
        let first = Task { await inbox.follow(client) }
        #expect(await seen.next() == "initial")
        #expect(inbox.rows.map(\.item) == [mail])
        #expect(inbox.list.sections[0].rows.map(\.id) == [17])
        first.cancel()
        await first.value

        _ = try await client.post(state: JSONText(#"["18"]"#))
        let second = Task { await inbox.follow(client) }
        #expect(await seen.next() == .some(nil))
        #expect(inbox.list.sections[0].rows.map(\.id) == ["18"])
        second.cancel()
        await second.value
        #expect(inbox.problem == nil)
    }

    @Test("it shows a window, and moves with it")
    func window() async throws {
        let server = try RunningServer()
        var client = ListClient.hasty(server)
        _ = try await client.post(state: JSONText(#"["a","b","c","d","e"]"#))
        let window = ListWindow(StateWindow(.start, after: 1))
        client.window = window
        let (updates, continuation) = AsyncStream.makeStream(of: String?.self)
        let list = LiveList<Mail?> { update, change in
            change()
            continuation.yield(update.reason)
        }
        var seen = updates.makeAsyncIterator()
        let following = Task { [client] in await list.follow(client) }
        #expect(await seen.next() == "initial")
        #expect(list.window == WindowBounds(anchor: "a", above: 0, below: 3))
        window.show(StateWindow(.around("d"), before: 1, after: 0))
        #expect(await seen.next() == .some(nil))
        #expect(list.list.sections[0].rows.map(\.id) == ["c", "d"])
        #expect(list.window == WindowBounds(anchor: "d", above: 2, below: 1))
        following.cancel()
        await following.value
    }

    @Test("its status says that nobody has posted the list yet, and that it came", .timeLimit(.minutes(1)))
    func status() async throws {
        let server = try RunningServer()
        var client = ListClient.hasty(server)
        client.wait = 0
        let list = LiveList<Mail?>()
        #expect(list.status == .connecting)
        let following = Task { [client] in await list.follow(client) }
        while true {
            if case .waiting(let problem, _) = list.status {
                #expect(problem.status == 404)
                break
            }
            try await Task.sleep(for: .milliseconds(5))
        }
        try await client.post(["a", "b"])
        while list.status != .live || list.rows.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
        #expect(list.rows.map(\.id) == ["a", "b"])
        following.cancel()
        await following.value
    }

    @Test("it says why it follows no more")
    func stopping() async throws {
        let server = try RunningServer()
        let inbox = LiveList<Mail>()
        await inbox.follow(.hasty(server, token: "unknown"))
        #expect(inbox.problem?.status == 401)
    }
}
