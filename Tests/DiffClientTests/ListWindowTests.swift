import Foundation
import SnapshotKit
import Synchronization
import Testing

@testable import DiffClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite(.realServer, .timeLimit(.minutes(5)))
struct ListWindowTests {
    /// Rows by number, each with its number and a color.
    private static func state(_ numbers: some Sequence<Int>) throws -> JSONText {
        let rows = numbers.map { #"{"id":\#($0),"content":{"n":\#($0),"color":"\#($0 % 2 == 0 ? "red" : "blue")"}}"# }
        return try JSONText("[\(rows.joined(separator: ","))]")
    }

    @Test func `a window shows its rows, and how many there are around them`() async throws {
        let server = try RunningServer()
        var client = ListClient.hasty(server)
        _ = try await client.post(state: Self.state(0..<100))
        client.window = ListWindow(StateWindow(.row(50), before: 2, after: 1))
        var updates = client.updates.makeAsyncIterator()
        let update = try #require(try await updates.next())
        #expect(update.ids == ["48", "49", "50", "51"])
        #expect(update.window == WindowBounds(anchor: "50", above: 48, below: 48))
    }

    @Test(arguments: [ListClient.Form.keyed, .staged(), .diffable])
    func `a window that moves gives a held request up, and brings only the rows that are new`(
        form: ListClient.Form
    ) async throws {
        let server = try RunningServer()
        var client = ListClient.hasty(server)
        let (statuses, answers) = (Statuses(), Answers())
        statuses.listen(to: &client)
        (client.form, client.wait) = (form, 60)
        _ = try await client.post(state: Self.state(0..<1000))
        let window = ListWindow(StateWindow(.start, after: 99))
        (client.window, client.transport) = (window, answers.transport)
        var updates = client.updates.makeAsyncIterator()
        _ = try await updates.next()
        let scrolling = Task {
            // The next request is on its way, or held.
            await answers.begun(2)
            window.show(StateWindow(.around("30"), before: 30, after: 79))
        }
        let update = try #require(try await updates.next())
        await scrolling.value
        #expect(update.ids == (0..<110).map(String.init))
        #expect(update.reason == nil)
        #expect(update.window == WindowBounds(anchor: "30", above: 0, below: 890))
        let sent = try #require(answers.texts.last)
        #expect(sent.contains(#""n":109"#) && !sent.contains(#""n":99,"#))
        #expect(statuses.problems.isEmpty)
    }

    @Test func `rows that come above are counted, and those shown stay`() async throws {
        let server = try RunningServer()
        var client = ListClient.hasty(server)
        _ = try await client.post(state: Self.state(10..<100))
        let window = ListWindow(StateWindow(.around("50"), before: 1, after: 1))
        client.window = window
        var updates = client.updates.makeAsyncIterator()
        _ = try await updates.next()
        let writer = ListClient.hasty(server)
        _ = try await writer.post(state: Self.state(0..<100))
        // Rows outside the window are no news; the next move tells the new bounds.
        window.show(StateWindow(.around("50"), before: 1, after: 2))
        let update = try #require(try await updates.next())
        #expect(update.ids == ["49", "50", "51", "52"])
        #expect(update.window == WindowBounds(anchor: "50", above: 49, below: 47))
    }

    @Test func `an answer for the rows before does no harm, whether it is given up or not`() async throws {
        let server = try RunningServer()
        var client = ListClient.hasty(server)
        _ = try await client.post(state: Self.state(0..<100))
        let window = ListWindow(StateWindow(.start, after: 1))
        client.window = window
        client.transport = { request in
            let answer = try await URLSession.shared.data(for: request)
            window.show(StateWindow(.row(4), before: 1, after: 1))
            return answer
        }
        var updates = client.updates.makeAsyncIterator()
        var ids = try await updates.next()?.ids
        if ids == ["0", "1"] { ids = try await updates.next()?.ids }
        #expect(ids == ["3", "4", "5"])
    }

    @Test func `a view leaves rows and fields out, in counts and in answers to writes too`() async throws {
        let server = try RunningServer()
        var client = ListClient.hasty(server)
        _ = try await client.post(state: Self.state(0..<10))
        client.view = try ListView(where: [.at("/content/color", is: "red")], fields: ["/content/n"])
        client.window = ListWindow(StateWindow(.end, before: 1))
        var updates = client.updates.makeAsyncIterator()
        let first = try #require(try await updates.next())
        #expect(first.ids == ["6", "8"])
        #expect(try first.list.sections[0].rows[1].content == JSONText(#"{"n":8}"#))
        #expect(first.window == WindowBounds(anchor: "8", above: 3, below: 0))

        var followed = FollowedList(first.list, revision: first.revision)
        let answer = try await client.post(state: Self.state(0..<13), since: first.revision)
        guard case .changed = try followed.take(answer) else {
            Issue.record("\(followed)")
            return
        }
        #expect(followed.list.sections[0].rows.map(\.id.text) == ["10", "12"])
        #expect(followed.window?.above == 5)
        let counts = OperationCounts(insertions: 2)
        let distance = try await client.distance(since: first.revision)
        #expect(distance.change == .operations(sections: OperationCounts(), items: counts))
        #expect(try await updates.next()?.list == followed.list)
    }

    @Test func `other readers of one window are moved with it`() async throws {
        let server = try RunningServer()
        var client = ListClient.hasty(server)
        _ = try await client.post(state: Self.state(0..<10))
        let window = ListWindow(StateWindow(.start, after: 0))
        client.window = window
        var readers = [client.updates.makeAsyncIterator(), client.updates.makeAsyncIterator()]
        for reader in readers.indices { #expect(try await readers[reader].next()?.ids == ["0"]) }
        window.show(StateWindow(.end, before: 0))
        for reader in readers.indices { #expect(try await readers[reader].next()?.ids == ["9"]) }
    }

    @Test(arguments: [
        #"{"anchor":"a","above":1}"#, #"{"anchor":"a","above":1,"below":"2"}"#, #"{"above":1,"below":2}"#, "[]",
        #"{"anchor":true,"above":1,"below":2}"#,
    ])
    func `bounds that are none are refused`(bounds: String) throws {
        let answer =
            #"{"session":"s","from":null,"to":"1","dialect":"keyed","reset":"initial","state":{"sections":[]}"#
        var followed = FollowedList()
        #expect(throws: ApplyError.self) { try followed.take(Array(#"\#(answer),"window":\#(bounds)}"#.utf8)) }
        let none = #"{"anchor":null,"above":0,"below":0,"more":1}"#
        _ = try followed.take(Array(#"\#(answer),"window":\#(none)}"#.utf8))
        #expect(followed.window == WindowBounds(anchor: nil, above: 0, below: 0))
    }
}

/// Sends requests to the server, and records them with their answers.
private final class Answers: Sendable {
    private let seen = Mutex((begun: 0, texts: [String]()))

    var texts: [String] { seen.withLock(\.texts) }

    var transport: @Sendable (URLRequest) async throws -> (Data, URLResponse) {
        { request in
            self.seen.withLock { $0.begun += 1 }
            let answer = try await URLSession.shared.data(for: request)
            self.seen.withLock { $0.texts.append(String(decoding: answer.0, as: UTF8.self)) }
            return answer
        }
    }

    /// Waits until this many requests have been sent.
    func begun(_ count: Int) async { await eventually { seen.withLock { $0.begun >= count } } }
}
