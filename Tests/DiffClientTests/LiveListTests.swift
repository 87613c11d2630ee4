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
        let client = DiffClient.hasty(server)
        let mail = Mail(subject: "Hello")
        _ = try await client.post(state: JSONText(#"[{"id":17,"content":\#(JSONText(encoding: mail))}]"#))
        let (updates, continuation) = AsyncStream.makeStream(of: String?.self)
        let inbox = LiveList { update, change in
            change()
            continuation.yield(update.reason)
        }
        var seen = updates.makeAsyncIterator()
        let first = Task { await inbox.follow(client) }
        #expect(await seen.next() == "initial")
        #expect(try inbox.list.sections[0].rows[0].content?.decoded(as: Mail.self) == mail)
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
        var client = DiffClient.hasty(server)
        _ = try await client.post(state: JSONText(#"["a","b","c","d","e"]"#))
        let window = ListWindow(StateWindow(.start, after: 1))
        client.window = window
        let (updates, continuation) = AsyncStream.makeStream(of: String?.self)
        let list = LiveList { update, change in
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

    @Test("it says why it follows no more")
    func stopping() async throws {
        let server = try RunningServer()
        let inbox = LiveList()
        await inbox.follow(.hasty(server, token: "unknown"))
        #expect(inbox.problem?.status == 401)
    }
}
