import DiffClient
import Foundation
import SnapshotKit
import Synchronization
import Testing

/// What a view was given, and how it applied that.
private final class Screen: Sendable {
    struct Shown {
        var list = RowList()
        var ids: [[String]] = []
        var moves = 0
        var updates = 0
        var insertions: [String: Int] = [:]
        var errors: [String] = []
    }

    private struct Batch {
        let json: String
        let edits: [NaiveEdit]
        let time = ContinuousClock.now
    }

    let world: World
    let client: ListClient
    private let shown = Mutex(Shown())
    private let batches = Mutex<[Batch]>([])
    private let sent = Atomic(0)

    init(_ world: World, _ form: ListClient.Form) {
        self.world = world
        var client = world.client
        client.form = form
        self.client = client
    }

    var now: Shown { shown.withLock { $0 } }

    func follow() async {
        do {
            var asked = ContinuousClock.now
            for try await update in client.updates {
                show(update, asked)
                asked = .now
            }
        } catch {
            shown.withLock { $0.errors.append("\(error)") }
        }
    }

    /// Waits until few edits are under way: `check` tries all combinations of known and unknown ones.
    func room() async { await eventually { sent.load(ordering: .relaxed) <= 5 } }

    /// Makes edits, and returns whether they were refused.
    func edit(_ edits: [NaiveEdit]) async -> Bool {
        sent.add(1, ordering: .relaxed)
        defer { sent.subtract(1, ordering: .relaxed) }
        let json = batches.withLock { batches in
            // White space distinguishes batches with the same edits.
            let space = String(repeating: " ", count: batches.count)
            let json = "[\(edits.map(\.json).joined(separator: ","))\(space)]"
            batches.append(Batch(json: json, edits: edits))
            return json
        }
        world.edits.withLock { $0[json] = edits }
        do throws(ServerProblem) {
            try await client.edit(JSONText(accepting: json))
            return false
        } catch {
            if error.status != 422 { shown.withLock { $0.errors.append("\(error)") } }
            return true
        }
    }

    private func show(_ update: ListUpdate, _ asked: ContinuousClock.Instant) {
        shown.withLock { shown in
            let ids = update.list.sections.map { $0.rows.map(\.id.text) }
            switch update.change {
            case .staged(let stages):
                for stage in stages {
                    shown.ids = Self.applied(stage.batch, to: shown.ids, stage.list)
                    shown.moves += stage.batch.items.moved.count
                    for path in stage.batch.items.inserted {
                        shown.insertions[stage.list[path].id.text, default: 0] += 1
                    }
                }
                if shown.ids != ids { shown.errors.append("stages lead to \(shown.ids), not to \(ids)") }
                if let last = stages.last, last.list != update.list { shown.errors.append("the last stage is another") }
            case .keyed, .diffable, .reset: break
            }
            if case .diffable(let arrangement) = update.change, arrangement.list != update.list {
                shown.errors.append("the arrangement is another")
            }
            shown.ids = ids
            shown.list = update.list
            shown.updates += 1
            if let error = check(update, asked) { shown.errors.append(error) }
        }
    }

    /// Compares the list with the head and its pending edits; whether edits in the head are known to be there is open.
    private func check(_ update: ListUpdate, _ asked: ContinuousClock.Instant) -> String? {
        guard let head = world.board(at: update.revision), let board = try? Board(update.list) else {
            return "no board"
        }
        let batches = batches.withLock { $0 }
        let results = batches.map { world.result(of: $0.json) }
        let settled = batches.indices.filter {
            // The list need not have edits made after, or just before, the update was requested.
            batches[$0].time + .milliseconds(50) > asked
                || results[$0].isRefused || results[$0].revision.map { World.holds(update.revision, $0) } ?? false
        }
        // Old edits are certainly known.
        let maybe = settled.suffix(9)
        for choice in 0..<1 << maybe.count {
            var wanted = head
            for (index, batch) in batches.enumerated() {
                if let bit = maybe.firstIndex(of: index) {
                    if choice & 1 << (bit - maybe.startIndex) == 0 { continue }
                } else if settled.contains(index) {
                    continue
                }
                wanted = batch.edits.reduce(wanted as Board?) { board, edit in board.flatMap(edit.applied) } ?? wanted
            }
            if wanted == board { return nil }
        }
        return "\(board.json) is not \(head.json) with \(batches.map(\.json))"
    }

    /// A stage as carried out by a view.
    private static func applied(_ batch: IndexBatch, to ids: [[String]], _ list: RowList) -> [[String]] {
        var ids = ids
        for path in (batch.items.deleted + batch.items.moved.map(\.from)).sorted(by: >) {
            ids[path.section].remove(at: path.row)
        }
        for path in (batch.items.inserted + batch.items.moved.map(\.to)).sorted(by: <) {
            ids[path.section].insert(list[path].id.text, at: path.row)
        }
        return ids
    }

    /// Waits until exactly the head is shown.
    func rest() async {
        let isHead = { (try? Board(self.now.list)) == self.world.head }
        #expect(await eventually(isHead))
        #expect(await stays(for: .milliseconds(100), isHead))
    }
}

@Suite("Edits that are shown at once", .timeLimit(.minutes(5)))
struct EditingTests {
    /// Runs a screen of a world.
    private func run(
        seed: UInt64, _ roughness: Roughness, _ form: ListClient.Form,
        _ body: (World, Screen, inout SplitMix64) async throws -> Void
    ) async throws {
        let world = World(seed: seed, roughness)
        let screen = Screen(world, form)
        let following = Task { await screen.follow() }
        await eventually { screen.now.updates > 0 }
        var chance = SplitMix64(seed: seed + 1_000)
        try await body(world, screen, &chance)
        following.cancel()
        await following.value
        if roughness.busy < 100 { #expect(screen.now.errors == []) }
    }

    private func form(_ seed: UInt64) -> ListClient.Form {
        [.staged(), .staged(compact: true), .diffable, .keyed][Int(seed % 4)]
    }

    @Test("at rest the head, while pending the head with its own edits", arguments: UInt64(0)..<16)
    func convergence(seed: UInt64) async throws {
        var roughness = Roughness.rough
        if seed % 3 == 0 { roughness.expiry = 8 }
        try await run(seed: seed, roughness, form(seed)) { world, screen, chance in
            try await withThrowingTaskGroup { group in
                for round in 0..<25 {
                    if !chance.once(in: 3) {
                        let board = try Board(screen.now.list)
                        let edits = (0...chance.below(2)).map {
                            NaiveEdit.random(&chance, board, new: "n\(round).\($0)")
                        }
                        await screen.room()
                        group.addTask { _ = await screen.edit(edits) }
                    } else {
                        world.write(.random(&chance, world.head, new: "w\(round)"))
                    }
                    if seed % 5 == 4, chance.once(in: 12) { world.recreate() }
                    try await pause(.milliseconds(chance.once(in: 4) ? 100 : 5 + chance.below(25)), "the user")
                }
                try await group.waitForAll()
            }
            await screen.rest()
        }
    }

    @Test("a move that is confirmed is one move on the screen, a refused one two", arguments: UInt64(0)..<12)
    func once(seed: UInt64) async throws {
        var outcomes = [0, 0]
        try await run(seed: seed, .rough, .staged(compact: seed % 2 == 0)) { world, screen, chance in
            for round in 0..<8 {
                let moves = screen.now.moves
                let board = try Board(screen.now.list)
                var edit = NaiveEdit.random(&chance, board, new: "", moves: true)
                while edit.applied(to: board) == board { edit = .random(&chance, board, new: "", moves: true) }
                async let outcome = screen.edit([edit])
                // Others write elsewhere meanwhile.
                while !chance.once(in: 3) {
                    world.write(NaiveEdit(act: .insert("w\(round).\(chance.below(1 << 30))", .end(3))))
                    try await pause(.milliseconds(chance.below(60)), "the other writer")
                }
                let isRefused = await outcome
                await screen.rest()
                let seen = screen.now.moves - moves
                // An edit refused before the loop's turn is never seen.
                #expect(isRefused ? seen == 2 || seen == 0 : seen == 1, "\(edit.json)")
                outcomes[seen == 1 ? 0 : 1] += 1
            }
        }
        #expect(outcomes[0] > 0)
    }

    @Test("many edits at once: no more moves than edits, and each row comes once", arguments: UInt64(0)..<8)
    func many(seed: UInt64) async throws {
        try await run(seed: seed, Roughness(requestLost: 5, answerLost: 8, readLost: 5, latency: 30), .staged()) {
            world, screen, chance in
            var moves = 0
            try await withThrowingTaskGroup { group in
                for round in 0..<12 {
                    let board = try Board(screen.now.list)
                    let edit = NaiveEdit.random(&chance, board, new: "n\(round)")
                    if case .delete = edit.act { continue }
                    if case .move = edit.act { moves += 1 }
                    group.addTask { #expect(await !screen.edit([edit])) }
                    try await pause(.milliseconds(5 + chance.below(30)), "the user")
                }
                try await group.waitForAll()
            }
            await screen.rest()
            #expect(screen.now.moves <= moves)
            for (id, count) in screen.now.insertions where id.hasPrefix("n") { #expect(count == 1, "\(id)") }
        }
    }

    @Test("an edit that is given up goes back at once")
    func cancelling() async throws {
        try await run(seed: 1, Roughness(busy: 100), .staged()) { world, screen, _ in
            let edit = Task { await screen.client.edited(#"[{"op":"move","items":["f"],"at":"start"}]"#) }
            await eventually { screen.now.ids.first?.first == "f" }
            edit.cancel()
            #expect(await edit.value != nil)
            await screen.rest()
            #expect(screen.now.moves == 2)
        }
    }

    @Test("a list of another history shows the edits under way, but none that was answered before")
    func otherHistory() async throws {
        let server = ForgetfulServer()
        var client = ListClient(url: URL(string: "http://forgetful.example")!, session: "list")
        client.transport = server.answer
        let shown = Mutex<[String]>([])
        let following = Task { [client] in
            for try await update in client.updates {
                shown.withLock { $0.append(update.ids.joined() + (update.reason.map { " \($0)" } ?? "")) }
            }
        }
        await eventually { server.isReading }
        #expect(await client.edited(#"[{"op":"move","items":["c"],"at":"start"}]"#) == nil)
        let second = Task { [client] in await client.edited(#"[{"op":"move","items":["a"],"at":"end"}]"#) }
        await eventually { shown.withLock { $0.last == "cba" } }
        server.restart()
        await eventually { shown.withLock { $0.last?.hasSuffix("unknown") == true } }
        #expect(shown.withLock(\.self) == ["abc initial", "cab", "cba", "bca unknown"])
        second.cancel()
        following.cancel()
        _ = try? await following.value
    }

    @Test("when its time is over an edit goes back, with the last problem")
    func patience() async throws {
        let world = World(seed: 1, Roughness(busy: 100))
        var client = world.client
        client.patience = 0.3
        let problem = await client.edited(#"[{"op":"delete","items":["a"]}]"#)
        #expect(problem?.status == 503)
    }

    @Test(
        "two clients edit one list of the real server", .realServer,
        arguments: [ListClient.Form.keyed, .staged(), .diffable])
    @MainActor
    func real(form: ListClient.Form) async throws {
        let server = try RunningServer()
        try await ListClient.hasty(server).send("PUT", #"{"state":\#(Board.first.json)}"#)
        var chance = SplitMix64(seed: 5)
        let lists = [LiveList<AnyContent>(), LiveList()]
        var tasks: [Task<Void, Never>] = []
        for list in lists {
            var client = ListClient.hasty(server)
            client.form = form
            tasks.append(Task { [client] in await list.follow(client) })
            await eventually { list.revision != nil }
        }
        var edits: [Task<Bool, Never>] = []
        var surprises = 0
        for round in 0..<60 {
            let list = lists[chance.below(2)]
            let before = try Board(list.list)
            let edit = NaiveEdit.random(&chance, before, new: "n\(round)")
            edits.append(
                Task.immediate {
                    do throws(ServerProblem) {
                        try await list.edit(JSONText(accepting: "[\(edit.json)]"))
                        return true
                    } catch {
                        return error.status != 422
                    }
                })
            // Shown before anything else happens on the main actor. An earlier edit may have been refused meanwhile.
            if try Board(list.list) != edit.applied(to: before) { surprises += 1 }
            try await pause(.milliseconds(chance.below(30)), "the users")
        }
        var done = 0
        for edit in edits where await edit.value { done += 1 }
        #expect(done > 30)
        #expect(surprises <= edits.count - done)
        let head = try await ListClient.hasty(server).shown()
        for list in lists { #expect(await eventually { list.list == head }) }
        for task in tasks { task.cancel() }
    }

    @Test("likes of two clients add up, and one that is refused is taken back", .realServer)
    @MainActor
    func likes() async throws {
        let server = try RunningServer()
        try await ListClient.hasty(server).send("PUT", #"{"state":[{"id":"a","content":{"likes":0,"name":"x"}}]}"#)
        let lists = [LiveList<AnyContent>(), LiveList()]
        let following = lists.map { list in Task { await list.follow(.hasty(server)) } }
        for list in lists { await eventually { list.revision != nil } }
        let content = { (list: LiveList<AnyContent>) in list.list.sections[0].rows[0].content?.description }
        var likes: [Task<ServerProblem?, Never>] = []
        var unchanged = 0
        for _ in 1...20 {
            for list in lists {
                let before = content(list)
                likes.append(
                    Task.immediate { await list.edited(#"[{"op":"update","items":[{"id":"a","add":{"/likes":1}}]}]"#) })
                // The edit is shown before anything else happens on the main actor; but an event before the answer may
                // have counted the previous one twice.
                if content(list) == before { unchanged += 1 }
            }
            try await pause(.milliseconds(7), "the users")
        }
        #expect(unchanged < 10)
        for like in likes { #expect(await like.value == nil) }
        for list in lists { #expect(await eventually { content(list) == #"{"likes":40,"name":"x"}"# }) }
        let problem = await lists[0].edited(
            #"[{"op":"update","items":[{"id":"a","add":{"/likes":1}}]},{"op":"reload","items":["nobody"]}]"#)
        #expect(problem?.status == 422)
        #expect(content(lists[0]) == #"{"likes":40,"name":"x"}"#)
        for task in following { task.cancel() }
    }

    @Test("a refused edit throws when the rows are as before", .realServer)
    @MainActor
    func refusal() async throws {
        let server = try RunningServer()
        let list = LiveList<AnyContent>()
        var problem = await list.edited("[]")
        #expect(problem?.title == "No session is followed")
        try await ListClient.hasty(server).send("PUT", #"{"state":["a","b"]}"#)
        let following = Task { await list.follow(.hasty(server)) }
        await eventually { list.revision != nil }
        let before = list.list
        // Only the server knows that this anchor does not exist.
        problem = await list.edited(#"[{"op":"move","items":["a"],"after":"nobody"}]"#)
        #expect(problem?.status == 422)
        #expect(list.list == before)
        following.cancel()
    }
}

/// A server that answers one edit, and then restarts with the list that it had at first.
private final class ForgetfulServer: Sendable {
    private let requests = Mutex<[String]>([])
    private let hasRestarted = Mutex(false)

    /// Whether a reader waits for changes.
    var isReading: Bool { requests.withLock { $0.contains { $0.contains("since=2-a") } } }

    func restart() { hasRestarted.withLock { $0 = true } }

    @Sendable
    func answer(_ request: URLRequest) async throws -> (Data, URLResponse) {
        let name = request.httpMethod == "POST" ? "POST" : request.url?.query ?? ""
        let isFirst = requests.withLock { requests in
            defer { requests.append(name) }
            return !requests.contains(name)
        }
        let state = #"{"sections":[{"id":"m","items":[{"id":"a"},{"id":"b"},{"id":"c"}]}]}"#
        var body = #"{"from":null,"to":"2-a","dialect":"keyed","reset":"initial","state":\#(state)}"#
        if name == "POST" {
            if !isFirst { try await waitForCancellation() }
            body = #"{"to":"3-a"}"#
        } else if name.contains("since=1-b") {
            try await waitForCancellation()
        } else if name.contains("since=") {
            await eventually { hasRestarted.withLock(\.self) }
            body = #"{"from":"2-a","to":"1-b","dialect":"keyed","reset":"unknown","state":\#(state)}"#
        }
        return try await Faults([.answered(status: 200, body)]).transport(request)
    }
}

extension JSONText {
    /// A JSON text written in a test.
    fileprivate init(accepting text: String) {
        do { try self.init(text) } catch { preconditionFailure("\(error)") }
    }
}

extension ListClient {
    /// Edits, and returns the refusal, if any.
    func edited(_ edits: String) async -> ServerProblem? {
        do throws(ServerProblem) {
            try await edit(JSONText(accepting: edits))
            return nil
        } catch { return error }
    }
}

extension LiveList {
    fileprivate func edited(_ edits: String) async -> ServerProblem? {
        do throws(ServerProblem) {
            try await edit(JSONText(accepting: edits))
            return nil
        } catch { return error }
    }
}
