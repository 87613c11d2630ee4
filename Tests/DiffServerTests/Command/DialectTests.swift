import DiffClient
import Foundation
import SnapshotKit
import Testing

@testable import DiffService
@testable import DiffCommand

// What the compiler does not require when a dialect is added. CONTRIBUTING.md lists the files.

@Suite("What a dialect needs")
struct DialectTests {
    @Test("help says what it is for", arguments: Dialect.allCases)
    func help(dialect: Dialect) {
        #expect(!dialect.summary.isEmpty)
        let named = Help(parts: nil).text(of: .overview).split(separator: "\n").contains {
            $0.split(separator: " ").first == Substring(dialect.rawValue) && $0.hasSuffix(dialect.summary)
        }
        #expect(named)
    }

    @Test("the description has its name, an example, and the schema of its own media type", arguments: Dialect.allCases)
    func description(dialect: Dialect) throws {
        let components = try Repository.description("components")
        let names = (components["schemas"] as? [String: Any])?["Dialect"] as? [String: Any]
        #expect((names?["enum"] as? [String])?.contains(dialect.rawValue) == true)
        #expect((components["examples"] as? [String: Any])?[dialect.rawValue] != nil)
        let answers = components["responses"] as? [String: [String: Any]] ?? [:]
        let contents = answers.values.compactMap { $0["content"] as? [String: [String: Any]] }
        #expect(contents.contains { $0[ChangesForm.mediaType(dialect)]?["schema"] != nil })
    }

    @Test("the page of the interface has its section", arguments: Dialect.allCases)
    func page(dialect: Dialect) throws {
        #expect(try Repository.text("docs/api/dialects.md").contains("\n## \(dialect.rawValue)\n"))
    }

    @Test("the tests from outside apply it", arguments: Dialect.allCases)
    func fromOutside(dialect: Dialect) throws {
        let appliers = try Repository.text("Tests/EndToEnd/support/appliers/__init__.py")
        #expect(appliers.contains("\"\(dialect.rawValue)\": "))
    }

    @Test("the Swift client applies it, unless it does not speak of rows in sections", arguments: Dialect.allCases)
    func client(dialect: Dialect) throws {
        let (old, new) = (try Snapshot(json: #"["a","b"]"#), try Snapshot(json: #"["b","c"]"#))
        let changes = String(decoding: Changeset(from: old, to: new).json(dialect), as: UTF8.self)
        var list = FollowedList(RowList(old), revision: "1")
        let take = {
            _ = try list.take(
                Array(#"{"from":"1","to":"2","dialect":"\#(dialect.rawValue)","changes":\#(changes)}"#.utf8))
        }
        if [.sequential, .counts, .jsonPatch].contains(dialect) {
            #expect(throws: ApplyError.self) { try take() }
        } else {
            try take()
            #expect(list.list == RowList(new))
        }
    }
}
