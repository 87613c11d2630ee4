import Foundation
import HTTPCore
import Testing

// Requirements of a new endpoint that nothing else checks. CONTRIBUTING.md lists the files.

@Suite("What an endpoint needs")
struct RoutesTests {
    /// The routes of the table: methods and patterns.
    private static let rows: [(method: String, path: String)] = {
        let table = (try? Repository.text("Sources/DiffServer/Service/Routes.swift")) ?? ""
        let rows = table.matches(of: /\.(get|put|post|patch|delete),\s*"(\/[^"]*)"/)
        return rows.map { ($0.1.uppercased(), String($0.2)) }
    }()

    @Test("every row of the table is described, and nothing else is")
    func description() throws {
        let paths = try Repository.description("paths").compactMapValues { $0 as? [String: Any] }
        let described = paths.flatMap { path, methods in
            methods.keys.filter { ["get", "put", "post", "patch", "delete"].contains($0) }
                .map { "\($0.uppercased()) \(path)" }
        }
        #expect(Self.rows.count > 15)
        #expect(Set(described) == Set(Self.rows.map { "\($0.method) \($0.path)" }))
    }

    @Test("every row of the table is on the page of the interface")
    func page() throws {
        let page = try Repository.text("docs/api/README.md")
        for (method, path) in Self.rows {
            let names = ["`\(method) \(path)`", "`\(method) \(path)?", "### \(method) \(path)\n", "`\(path)`"]
            #expect(names.contains { page.contains($0) }, "\(method) \(path)")
        }
    }
}
