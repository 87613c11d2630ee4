import Testing

@testable import HTTPCore

@Suite struct RouterTests {
    private let router = Router<String>([
        .init(.get, "/", "root"),
        .init(.get, "/v1/sessions/{session}", "session"),
        .init(.delete, "/v1/sessions/{session}", "gone"),
        .init(.get, "/v1/sessions/{session}/items/{item}", "item"),
        .init(.get, "/v1/sessions/all", "all"),
    ])

    private func found(_ method: HTTPCore.Method, _ path: [String]) -> String {
        switch router.match(method, path) {
        case .found(let payload, _): payload
        case .methodNotAllowed(let allow): "405 \(allow)"
        case .notFound: "404"
        }
    }

    @Test func rowsAreFound() {
        #expect(found(.get, []) == "root")
        #expect(found(.get, ["v1", "sessions", "a"]) == "session")
        #expect(found(.head, ["v1", "sessions", "a"]) == "session")
        #expect(found(.delete, ["v1", "sessions", "a"]) == "gone")
        #expect(found(.get, ["v1", "sessions", "all"]) == "all")
        #expect(found(.delete, ["v1", "sessions", "all"]) == "405 GET, HEAD, OPTIONS")
        #expect(found(.put, ["v1", "sessions", "a"]) == "405 DELETE, GET, HEAD, OPTIONS")
        let strangers = [
            ["v1"], ["v1", "sessions", ""], ["v1", "sessions", "a", ""], [""], ["V1", "sessions", "a"],
            ["v1", "sessions", "a", "items", "b", "c"],
        ]
        for path in strangers {
            #expect(found(.get, path) == "404", "\(path)")
        }
    }

    @Test func parametersAreSegments() throws {
        guard case .found(_, let parameters) = router.match(.get, ["v1", "sessions", "s", "items", "a/b"]) else {
            Issue.record("not found")
            return
        }
        #expect(parameters["session"] == "s" && parameters["item"] == "a/b")
    }
}
