import Foundation
import Testing

/// The repository of these tests.
enum Repository {
    /// A file's text.
    static func text(_ path: String) throws -> String {
        var root = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
        for _ in 0..<4 { root.deleteLastPathComponent() }
        return try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    /// A member of the interface's description.
    static func description(_ member: String) throws -> [String: Any] {
        let text = try text("Sources/DiffServer/Page/openapi.json")
        let document = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
        return try #require(document?[member] as? [String: Any])
    }
}
