import Foundation
import Testing

@testable import DiffClient

@Suite("What a problem says")
struct ServerProblemTests {
    static let violation = #"{"pointer":"/edits/0/before","code":"anchor-not-found","detail":"there is no \"é\""}"#
    static let read = Violation(pointer: "/edits/0/before", code: "anchor-not-found", detail: "there is no \"é\"")

    @Test(
        "errors are read as far as they say where and what",
        arguments: [
            ("[]", []),
            ("[\(violation)]", [read]),
            ("[\(violation),\(violation)]", [read, read]),
            (#"[{"pointer":"","code":"wrong-shape"}]"#, [Violation(pointer: "", code: "wrong-shape", detail: "")]),
            (
                #"[{"pointer":"/a","code":"c","detail":"d","more":[1]},{"code":"c"},{"pointer":"/a","code":1},7,null]"#,
                [Violation(pointer: "/a", code: "c", detail: "d")]
            ),
            (#"{"pointer":"/a","code":"c"}"#, []), ("null", []), (#""none""#, []), ("422", []),
        ] as [(String, [Violation])])
    func errors(json: String, errors: [Violation]) {
        let body = #"{"type":"/t","title":"T","status":422,"detail":"D","current":"1-a","errors":\#(json)}"#
        let problem = ServerProblem(json: Data(body.utf8))
        #expect(problem.errors == errors)
        #expect([problem.type, problem.title, problem.detail, problem.current] == ["/t", "T", "D", "1-a"])
        #expect(problem.status == 422)
    }

    @Test(
        "what is no problem has neither errors nor a detail",
        arguments: ["", "<p>", "[]", "null", "{}", #"{"title":1,"detail":[],"status":"422","errors":7}"#])
    func other(body: String) {
        let problem = ServerProblem(json: Data(body.utf8), title: "Bad Gateway")
        #expect(problem == ServerProblem(title: "Bad Gateway"))
    }

    @Test(
        "it is described by its first errors, or its detail",
        arguments: [
            (0, "422: D"), (1, "422: no 0 (/0)"), (3, "422: no 0 (/0); no 1 (/1); no 2 (/2)"),
            (5, "422: no 0 (/0); no 1 (/1); no 2 (/2); and 2 more"),
        ])
    func description(count: Int, text: String) {
        let errors = (0..<count).map { Violation(pointer: "/\($0)", code: "c", detail: "no \($0)") }
        #expect(ServerProblem(status: 422, title: "T", detail: "D", errors: errors).description == text)
    }

    @Test("without a detail it is described by its title, and without a status by both")
    func titles() {
        #expect(ServerProblem(status: 502, title: "Bad Gateway").description == "502: Bad Gateway")
        #expect(ServerProblem(title: "No connection", detail: "timed out").description == "No connection: timed out")
    }

    @Test(
        "another try may help where a session is missing, not where a route is",
        arguments: [("session-not-found", true), ("route-not-found", false)])
    func missing(type: String, isPassing: Bool) {
        #expect(ServerProblem(status: 404, type: "/problems/\(type)", title: "T").isPassing == isPassing)
    }

    @Test("a refusal names each place", .realServer)
    func refusal() async throws {
        let server = try RunningServer()
        let client = ListClient.hasty(server)
        _ = try await client.post(state: JSONText(#"["a","b"]"#))
        let edits = try JSONText(#"[{"op":"insert","items":["b"],"after":"nobody"}]"#)
        let problem = try #require(await #expect(throws: ServerProblem.self) { try await client.edit(edits) })
        #expect(problem.errors.map(\.pointer) == ["/edits/0/after", "/edits/0/items/0"])
        #expect(problem.errors.map(\.code) == ["anchor-not-found", "duplicate-id"])
        let details = problem.errors.map(\.detail)
        #expect(problem.detail == "\(details[0]); and 1 more")
        #expect(
            problem.description
                == "422: \(details[0]) (/edits/0/after); \(details[1]) (/edits/0/items/0)")

        let state = await #expect(throws: ServerProblem.self) { try await client.post(["c", "c"]) }
        #expect(state?.errors.map(\.pointer) == ["/state/0", "/state/1"])
        #expect(state?.errors.map(\.code) == ["duplicate-id", "duplicate-id"])
        let missing = await #expect(throws: ServerProblem.self) {
            try await ListClient.hasty(server, "missing").edit(edits)
        }
        #expect(missing?.status == 404)
        #expect(missing?.errors == [])
    }
}
