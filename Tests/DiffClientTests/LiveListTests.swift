import DiffClient
import Foundation
import Observation
import SnapshotKit
import Synchronization
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("A list that a view shows", .realServer, .timeLimit(.minutes(5)))
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

    @Test("its status says that nobody has posted the list yet, and that it came")
    func status() async throws {
        let server = try RunningServer()
        var client = ListClient.hasty(server)
        client.wait = 0
        let list = LiveList<Mail?>()
        #expect(list.status == .connecting)
        let following = Task { [client] in await list.follow(client) }
        let problem = { () -> ServerProblem? in
            if case .waiting(let problem, _) = list.status { problem } else { nil }
        }
        await eventually { problem() != nil }
        #expect(problem()?.status == 404)
        try await client.post(["a", "b"])
        await eventually { list.status == .live && !list.rows.isEmpty }
        #expect(list.rows.map(\.id) == ["a", "b"])
        following.cancel()
        await following.value
    }

    @Test("it is stale while the list's source is silent, and then live again")
    func stale() async throws {
        let isDown = Mutex(false)
        let source = try ScriptedServer { _, _ in
            let (status, body) = isDown.withLock(\.self) ? ("503 Down", "") : ("200 OK", #"["a"]"#)
            let head = "HTTP/1.1 \(status)\r\nContent-Type: application/json\r\nConnection: close\r\n"
            return [.send("\(head)Content-Length: \(body.utf8.count)\r\n\r\n\(body)")]
        }
        let file = FileManager.default.temporaryDirectory.appending(path: "lists-\(UUID()).json")
        try Data(#"{"board":{"source":{"url":"\#(source.url)","every":1}}}"#.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let server = try RunningServer(options: "--lists", file.path)
        let board = LiveList<Mail?>()
        let following = Task { await board.follow(.hasty(server, "board")) }
        await eventually { board.status == .live && board.rows.map(\.id) == ["a"] }
        isDown.withLock { $0 = true }
        await eventually { if case .stale(let seconds) = board.status { seconds >= 1 } else { false } }
        isDown.withLock { $0 = false }
        await eventually(within: .seconds(60)) { board.status == .live }
        #expect(board.status == .live)
        following.cancel()
        await following.value
    }

    @Test("an edit that waits for the server is told, as a count and by row")
    func pending() async throws {
        let server = try RunningServer()
        let told = Mutex<[ListClient.Pending]>([])
        var client = ListClient.hasty(server)
        client.onPending = { pending in told.withLock { $0.append(pending) } }
        try await client.post(["a", "b"])
        let list = LiveList<Mail?>()
        #expect(list.pending.count == 0)
        let following = Task { [client] in await list.follow(client) }
        await eventually { list.rows.count == 2 }
        let new = NewElement("p", items: [NewElement("q")])
        let edit = Task.immediate {
            try await list.edit(.move("b", before: "a"), .sections(.expand("main")), .insert(new))
        }
        // Shown before anything else happens on the main actor.
        #expect(list.pending.count == 1)
        #expect(["a", "b", "main", "p", "q"].filter { list.pending.has($0) } == ["b", "main", "p", "q"])
        _ = try await edit.value
        #expect(list.pending.count == 0)
        #expect(client.pending == list.pending)

        // A copy of the client, by which the list does not hear of it at once.
        let (gate, opening) = AsyncStream.makeStream(of: Void.self)
        var copy = client
        copy.transport = { request in
            for await _ in gate { break }
            return try await URLSession.shared.data(for: request)
        }
        let late = Task { [copy] in try await copy.edit(.remove("a")) }
        await eventually { list.pending.has("a") && list.rows.map(\.id) == ["b", "p", "q"] }
        #expect(told.withLock { $0.last?.count } == 1)
        opening.finish()
        _ = try await late.value
        await eventually { list.pending.count == 0 }
        #expect(told.withLock { $0.last?.count } == 0)
        following.cancel()
        await following.value
    }

    @Test("a view that reads its rows is told when they change")
    func observation() async throws {
        let server = try RunningServer()
        let client = ListClient.hasty(server)
        try await client.post(["a"])
        let list = LiveList<Mail?>()
        let following = Task { await list.follow(client) }
        await eventually { list.status == .live && list.rows.count == 1 }
        let isTold = Mutex(false)
        withObservationTracking {
            _ = list.rows
        } onChange: {
            isTold.withLock { $0 = true }
        }
        #expect(isTold.withLock { $0 } == false)
        try await client.post(["a", "b"])
        await eventually { list.rows.count == 2 }
        #expect(isTold.withLock { $0 })
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
