import Foundation
import Testing

@testable import DiffClient

/// docs/vectors.json, in the dialects that are applied here.
@Suite("The vectors for clients")
struct VectorTests {
    private static let vectors: [[String: JSONSlice]] = {
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { root.deleteLastPathComponent() }
        let file = root.appending(path: "docs/vectors.json")
        do {
            let bytes = [UInt8](try Data(contentsOf: file))
            return try #require(try JSONSlice(checking: bytes).members?["vectors"]?.elements?.compactMap(\.members))
        } catch {
            Issue.record(error, "\(file.path) cannot be read")
            return []
        }
    }()

    @Test("each leads from before to after", arguments: ["keyed", "indexed", "staged", "diffable"])
    func vectors(dialect: String) throws {
        var (count, patches, resets) = (0, 0, 0)
        for vector in Self.vectors where vector["dialect"]?.string == dialect {
            let answer = try #require(vector["answer"])
            var followed = FollowedList()
            if let before = vector["before"], before.members != nil {
                let revision = answer.members?["from"]?.string ?? "1-0"
                followed = FollowedList(try RowList(state: before), revision: revision)
            }
            let name = vector["name"]?.string ?? ""
            let outcome = try followed.take(answer.text)
            if case .elsewhere = outcome { Issue.record("\(name): the answer is for another list") }
            if case .replaced = outcome { resets += 1 }
            #expect(followed.list == (try RowList(state: #require(vector["after"]))), "\(dialect): \(name)")
            count += 1
            if vector["content"]?.string == "patch" { patches += 1 }
        }
        #expect(count > 40 && patches > 1 && resets == 2, "\(dialect): \(count), \(patches), \(resets)")
    }
}
