import Testing

@testable import HTTPCore

@Suite struct RequestHeadTests {
    private func head(_ target: String, _ fields: String = "", version: String = "1.1") throws -> RequestHead {
        try RequestHead(parsing: "GET \(target) HTTP/\(version)\r\nHost: a\r\n\(fields)\r\n")
    }

    @Test func aPathIsSplitBeforeItIsDecodedAndDecodedOnce() throws {
        let rows: [(String, [String])] = [
            ("/", []), ("/a", ["a"]), ("/a/", ["a", ""]), ("//a", ["", "a"]), ("/a%2Fb/c", ["a/b", "c"]),
            ("/%2525", ["%25"]),
            ("/a/../b", ["a", "..", "b"]), ("/%C3%A9?x", ["é"]), ("http://a", []), ("http://a/b", ["b"]),
        ]
        for (target, path) in rows { #expect(try head(target).path == path, "\(target)") }
    }

    @Test func aQueryKeepsOrderRepetitionAndPlus() throws {
        let query = try head("/?a=1&b&a=%20+&&=c&d=e=f?g").query.map { "\($0.name)→\($0.value)" }
        #expect(query == ["a→1", "b→", "a→ +", "→c", "d→e=f?g"])
        #expect(try head("/a").query.isEmpty && head("/a?").query.isEmpty)
        let form = try head("/?a=1+2%2B3&b+c=+%20+").formQuery.map { "\($0.name)→\($0.value)" }
        #expect(form == ["a→1 2+3", "b c→   "])
    }

    @Test func fieldsAreFoundWhateverTheirCase() throws {
        let head = try head("/", "Accept: a\r\naccept:  b \r\nX-Empty:\r\n")
        #expect(
            head["ACCEPT"] == "a" && head.values(of: "Accept") == ["a", "b"] && head["x-empty"] == ""
                && head["y"] == nil)
        #expect(head.host == "a")
    }

    @Test func persistenceFollowsVersionAndConnection() throws {
        #expect(try head("/").keepsAlive)
        #expect(try !head("/", "Connection: x, Close\r\n").keepsAlive)
        #expect(try !head("/", version: "1.0").keepsAlive)
        #expect(try head("/", "Connection: Keep-Alive\r\n", version: "1.0").keepsAlive)
        #expect(try !head("/", "Connection: keep-alive\r\nConnection: close\r\n").keepsAlive)
    }

    @Test func contentEncodingIsClosed() throws {
        #expect(try head("/").contentEncoding == .identity)
        #expect(try head("/", "Content-Encoding: GZip\r\n").contentEncoding == .gzip)
        #expect(try head("/", "Content-Encoding: gzip, gzip\r\n").contentEncoding == .unsupported)
        #expect(try head("/", "Content-Encoding: br\r\n").contentEncoding == .unsupported)
    }

    @Test func expectationsOfAnOldClientAreIgnored() throws {
        #expect(try head("/", "Expect: 100-Continue\r\n").expectsContinue)
        #expect(try !head("/", "Expect: 100-continue\r\n", version: "1.0").expectsContinue)
        #expect(try head("/", "Expect: x\r\n").expectsOther)
        #expect(try !head("/", "Expect: x\r\n", version: "1.0").expectsOther)
    }

    @Test(arguments: [
        ("/a/b%2Fc?since=1", "/a/b%2Fc"), ("/?x", "/"), ("http://a/b?x", "http://a/b"), ("/a", "/a"),
    ])
    func aShortenedHeadHasItsPathAndWhatIsKept(_ target: String, _ kept: String) throws {
        let whole = try RequestHead(
            parsing:
                "GET \(target) HTTP/1.1\r\nHost: a\r\nAccept-Encoding: br, gzip\r\nX-Request-Id: id\r\nX: y\r\n\r\n")
        let short = whole.shortened(to: [Field("origin", "o"), Field("traceparent", "t")])
        #expect((short.method, short.target, short.path) == (.get, kept, whole.path))
        #expect(short.query.isEmpty && short.formQuery.isEmpty && short.keepsAlive && !short.isServerWide)
        #expect((short["Origin"], short["traceparent"], short["x"], short.host) == ("o", "t", nil, nil))
        #expect(short.acceptsGzip && RequestID(head: short, made: 1).text == "id")
        #expect(short.shortened(to: [])["origin"] == nil)
    }

    @Test func aShortenedHeadHasNothingThatTheWholeOneHadNot() throws {
        let whole = try RequestHead(parsing: "OPTIONS * HTTP/1.1\r\nHost: a\r\nX-Request-Id: a b\r\n\r\n")
        let short = whole.shortened(to: [])
        #expect(short.isServerWide && short.target == "*" && short.path == ["*"] && !short.acceptsGzip)
        #expect(RequestID(head: short, made: 1).text == "0000000000000001")
    }
}
