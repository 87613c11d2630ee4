import DiffClient
import Foundation
import SnapshotKit
import Testing

@Suite("The example in DiffClient's comment", .timeLimit(.minutes(5)))
struct ExampleTests {
    @Test("it runs", .realServer)
    func run() async throws {
        let running = try RunningServer()
        let (server, token): (URL, String?) = (running.url, nil)

        let client = ListClient(url: server, session: "inbox", token: token)
        _ = try await client.post(state: JSONText(#"[{"id":17,"content":{"subject":"Hello"}}]"#))
        for try await update in client.updates {
            print(update.list.sections[0].rows.map(\.id))  // [17]
            break
        }

        #expect(try await client.shown().sections[0].rows.map(\.id) == [17])
    }

    @Test("it is this code")
    func text() throws {
        let here = URL(fileURLWithPath: #filePath)
        var root = here
        for _ in 0..<3 { root.deleteLastPathComponent() }
        let source = try String(
            contentsOf: root.appending(path: "Sources/DiffClient/ListClient.swift"), encoding: .utf8)
        let comment = source.components(separatedBy: "```swift\n")[1].components(separatedBy: "/// ```")[0]
        let example = comment.split(separator: "\n").map { "        " + $0.dropFirst(4) }
        #expect(example.count == 6)
        #expect(try String(contentsOf: here, encoding: .utf8).contains(example.joined(separator: "\n")))
    }
}
