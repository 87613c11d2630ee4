import Foundation
import SnapshotKit
import Testing

@testable import DiffClient

@Suite(.realServer, .timeLimit(.minutes(5)))
struct ListDistanceTests {
    @Test func `what is counted is not adopted`() async throws {
        let server = try RunningServer()
        var client = ListClient.hasty(server)
        // The request is the same whatever form updates have.
        (client.form, client.content, client.prefersSmallest) = (.staged(compact: true), .patch, true)
        _ = try await client.post(state: JSONText(#"{"sections":[{"id":"x","items":["a","b","c","e"]}]}"#))
        #expect(try await client.distance(since: nil).change == .reset(reason: "initial", rows: 4))
        var updates = client.updates.makeAsyncIterator()
        let shown = try #require(try await updates.next())
        let none = ListDistance.Change.operations(sections: OperationCounts(), items: OperationCounts())
        #expect(
            try await client.distance(since: shown.revision) == ListDistance(revision: shown.revision, change: none))
        let next = #"{"sections":[{"id":"x","items":["a",{"id":"c","content":1}]},{"id":"y","items":["e","f"]}]}"#
        _ = try await client.post(state: JSONText(next))
        for _ in 0..<2 {
            let distance = try await client.distance(since: shown.revision)
            let items = OperationCounts(deletions: 1, insertions: 1, moves: 1, updates: 1)
            #expect(distance.change == .operations(sections: OperationCounts(insertions: 1), items: items))
            #expect(distance.revision != shown.revision)
        }
        let update = try #require(try await updates.next())
        #expect(try await client.distance(since: update.revision).change == none)
    }

    @Test func `a session that is not there is a problem`() async throws {
        let server = try RunningServer()
        let problem = await #expect(throws: ServerProblem.self) {
            try await ListClient.hasty(server).distance(since: nil)
        }
        #expect(problem?.status == 404)
    }

    @Test(arguments: [
        #"{"to":"1-0","changes":[]}"#, #"{"to":"1-0","changes":{"rows":{}}}"#, #"{"to":"1-0","reset":"initial"}"#,
        #"{"to":"1-0","changes":{"items":{"deleted":"1"}}}"#, #"{"changes":{}}"#, "[]",
        #"{"to":"1-0","changes":{"items":{"added":1}}}"#,
    ])
    func `what is no count is refused`(_ answer: String) throws {
        #expect(throws: ApplyError.self) { try ListDistance(JSONText(answer).slice) }
    }

    @Test func `changes that would be longer than the list are a reset where that is preferred`() async throws {
        let server = try RunningServer()
        let long = (0..<200).map { #"{"id":"row \#($0)"}"# }.joined(separator: ",")
        for prefersSmallest in [true, false] {
            var client = ListClient.hasty(server, "list-\(prefersSmallest)")
            client.prefersSmallest = prefersSmallest
            _ = try await client.post(state: JSONText("[\(long)]"))
            var updates = client.updates.makeAsyncIterator()
            _ = try await updates.next()
            _ = try await client.post(state: JSONText(#"["a"]"#))
            let update = try #require(try await updates.next())
            #expect(update.ids == ["a"] && update.reason == (prefersSmallest ? "large" : nil))
        }
    }
}
