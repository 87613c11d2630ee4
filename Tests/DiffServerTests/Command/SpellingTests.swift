import Testing

@testable import DiffService
@testable import SnapshotKit
@testable import DiffCommand

@Suite struct SpellingTests {
    private let names = ["--memory", "--max-body", "--log", "--ttl"]

    @Test(arguments: [
        ("--memroy", "--memory"), ("--memoyr", "--memory"), ("--mmory", "--memory"), ("--max_bdy", "--max-body"),
        ("--lgo", "--log"), ("--ttll", "--ttl"),
    ])
    func `a letter or two make no other name`(_ text: String, _ meant: String) {
        #expect(Spelling.nearest(to: text, among: names) == meant)
    }

    @Test(arguments: ["--mem", "--body", "--lgoo", "--lttt", ""])
    func `what differs more is another name`(_ text: String) {
        #expect(Spelling.nearest(to: text, among: names) == nil)
    }

    @Test(arguments: [
        ("/v1/sessions/a/changes/", "/v1/sessions/a/changes"), ("/v1/session/a/change", "/v1/sessions/a/changes"),
        ("/sessions/a", "/v1/sessions/a"), ("/healthz", nil), ("/livezz", "/livez"), ("/v1/diffs", "/v1/diff"),
        ("/v1/sessions/a/item/x%2Fy", "/v1/sessions/a/items/x%2Fy"), ("/v1/none", nil), ("/v1/sessions/a/b/c/d", nil),
    ])
    func `a path that is nearly a route's is taken for it`(_ path: String, _ meant: String?) {
        #expect(Spelling.nearestPath(to: path, among: routePatterns) == meant)
    }

    @Test func `a variable that is nearly an option's is told, and no other`() {
        let service = ["SERVICE_HOST", "SERVICE_PORT", "SERVICE_PORT_HTTP", "PORT"]
        let port = ["PORT_8080_TCP", "PORT_8080_TCP_PROTO", "PORT_8080_TCP_PORT", "PORT_8080_TCP_ADDR"]
        let variables = (service + port).map { "DIFFSERVER_" + $0 } + ["DIFFSERVER", "DIFFSERVER_MEMORY", "MEMROY"]
        #expect(Options.misspelt(variables) == [])
        #expect(
            Options.misspelt(["DIFFSERVER_STORE_PASSWORDFILE", "DIFFSERVER_KEYS"]) == [
                "the variable DIFFSERVER_KEYS is not read; did you mean DIFFSERVER_KEY?",
                "the variable DIFFSERVER_STORE_PASSWORDFILE is not read; did you mean DIFFSERVER_STORE_PASSWORD_FILE?",
            ])
    }
}
