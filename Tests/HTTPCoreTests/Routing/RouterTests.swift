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

    private func head(_ target: String) throws -> RequestHead {
        try RequestHead(parsing: "GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
    }

    private func found(_ method: HTTPCore.Method, _ target: String) throws -> String {
        switch router.match(try head(target), as: method) {
        case .found(let payload, _): payload
        case .methodNotAllowed(let allow): "405 \(allow)"
        case .notFound: "404"
        }
    }

    @Test func rowsAreFound() throws {
        #expect(try found(.get, "/") == "root" && found(.get, "/?a") == "root" && found(.get, "http://a") == "root")
        #expect(try found(.get, "/v1/sessions/a") == "session")
        #expect(try found(.head, "/v1/sessions/a") == "session")
        #expect(try found(.delete, "/v1/sessions/a") == "gone")
        #expect(try found(.get, "/v1/sessions/all") == "all")
        #expect(try found(.get, "/v1/sessions/all?x=/y") == "all")
        #expect(try found(.get, "/v1/sessions/allo") == "session")
        #expect(try found(.delete, "/v1/sessions/all") == "405 GET, HEAD, OPTIONS")
        #expect(try found(.put, "/v1/sessions/a") == "405 DELETE, GET, HEAD, OPTIONS")
        let strangers = [
            "/v1", "/v1/sessions/", "/v1/sessions/a/", "//", "/V1/sessions/a", "/v1/sessions/a/items/b/c",
            "/v1/sessions/a/items/", "/v1/sessions", "//v1/sessions/a",
        ]
        for target in strangers {
            #expect(try found(.get, target) == "404", "\(target)")
        }
    }

    @Test func anEscapeIsTheCharacterThatItStandsForAndNeverABorder() throws {
        #expect(try found(.get, "/%761/se%73sions/all") == "all")
        #expect(try found(.get, "/v1/sessions/al%6C") == "all")
        #expect(try found(.get, "/v1/sessions/%61l") == "session")
        #expect(try found(.get, "/v1%2Fsessions/a") == "404")
        #expect(try found(.get, "/v1/sessions/a%2Fitems%2Fb") == "session")
        #expect(try found(.get, "/v1/sessions%2Fa") == "404")
    }

    @Test func theServerIsNoResource() throws {
        for target in ["*", "http://a"] {
            let head = try RequestHead(parsing: "OPTIONS \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
            guard case .notFound = router.match(head) else {
                Issue.record("\(target) was found")
                continue
            }
            #expect(head.path == ["*"])
        }
    }

    @Test func parametersAreSegments() throws {
        guard case .found(_, let parameters) = router.match(try head("/v1/sessions/s/items/a%2Fb?c")) else {
            Issue.record("not found")
            return
        }
        #expect(parameters["session"] == "s" && parameters["item"] == "a/b" && parameters.value(of: "v1") == nil)
    }
}
