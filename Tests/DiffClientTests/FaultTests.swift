import DiffClient
import SnapshotKit
import Testing

@Suite("Faults on the way", .realServer, .timeLimit(.minutes(5)))
struct FaultTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let fault: Fault
        /// The status of the expected problem; nil for one without.
        let status: Int?
        /// The reason for a reset afterwards; nil if the list continues.
        var reason: String?
        /// The shortest expected wait.
        var delay = 0.0
    }

    static let rows = [
        Row(testDescription: "an answer is lost", fault: .answerLost, status: nil),
        Row(
            testDescription: "the server goes down", fault: .answered(status: 503, fields: ["Retry-After": "1"], "{}"),
            status: 503,
            delay: 1),
        Row(
            testDescription: "a proxy has no server",
            fault: .answered(status: 502, fields: ["Content-Type": "text/html"], "<p>"), status: 502),
        Row(
            testDescription: "a portal wants a login",
            fault: .answered(status: 200, fields: ["Content-Type": "text/html"], "<form>"), status: nil),
        Row(
            testDescription: "an answer is for another list",
            fault: .answered(
                status: 200,
                #"{"session":"list","from":"8-0000000000000000","to":"9-0000000000000000","dialect":"keyed","#
                    + #""changes":[]}"#
            ),
            status: nil),
        Row(
            testDescription: "an answer breaks off", fault: .answered(status: 200, #"{"session":"list","from":"#),
            status: nil,
            reason: "initial"),
    ]

    @Test("what is shown stays, and the client goes on", arguments: rows)
    func faults(row: Row) async throws {
        let server = try RunningServer()
        let writer = ListClient.hasty(server)
        var client = ListClient.hasty(server)
        let statuses = Statuses()
        statuses.listen(to: &client)
        let faults = Faults([.none, row.fault])
        client.transport = faults.transport
        _ = try await writer.post(state: JSONText("[1]"))
        var updates = client.updates.makeAsyncIterator()
        #expect(try await updates.next()?.ids == ["1"])
        _ = try await writer.post(state: JSONText("[1,2]"))
        let update = try #require(try await updates.next())
        #expect(update.ids == ["1", "2"])
        #expect(update.reason == row.reason)
        #expect(statuses.problems.map(\.status) == [row.status])
        #expect(statuses.delays.allSatisfy { $0 >= row.delay })
    }

    @Test("a write whose answer is lost is done once")
    func lostWrite() async throws {
        let server = try RunningServer()
        var client = ListClient.hasty(server)
        let faults = Faults([.none, .answerLost, .answerLost])
        client.transport = faults.transport
        _ = try await client.post(state: JSONText("[1]"))
        var followed = FollowedList()
        let edits = try JSONText(#"[{"op":"insert","items":[{"id":2}]}]"#)
        // A second time would be refused: the id exists already.
        guard case .replaced = try followed.take(try await client.post(edits: edits, since: "")) else {
            Issue.record("not a reset")
            return
        }
        #expect(faults.left == 0)
        #expect(followed.list.sections[0].rows.map(\.id.text) == ["1", "2"])
        #expect(followed.revision?.hasPrefix("2-") == true)
    }

    @Test("a write on a revision that is not the head is refused, with the head")
    func precondition() async throws {
        let server = try RunningServer()
        let client = ListClient.hasty(server)
        _ = try await client.post(state: JSONText("[1]"))
        let problem = await #expect(throws: ServerProblem.self) {
            try await client.post(state: JSONText("[3]"), ifMatch: "7-0000000000000000")
        }
        #expect(problem?.status == 412)
        #expect(problem?.current?.hasPrefix("1-") == true)
    }
}

extension Fault {
    static func answered(status: Int, _ body: String) -> Fault {
        .answered(status: status, fields: ["Content-Type": "application/json"], body)
    }
}
