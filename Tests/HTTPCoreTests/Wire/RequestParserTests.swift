import Testing

@testable import HTTPCore

/// Each row is a byte stream and its expected meaning. Every row is read whole, cut at every octet, and octet by octet.
@Suite struct RequestParserTests {
    private static let host = "Host: a\r\n"

    static let accepted: [(String, [String])] = [
        ("GET / HTTP/1.1\r\n\(host)\r\n", ["GET /"]),
        ("\r\nGET / HTTP/1.1\r\n\(host)\r\n", ["GET /"]),
        ("GET / HTTP/1.0\r\n\r\n", ["GET /"]),
        ("GET / HTTP/1.7\r\n\(host)\r\n", ["GET /"]),
        ("OPTIONS * HTTP/1.1\r\n\(host)\r\n", ["OPTIONS *"]),
        ("GET http://a/b?c HTTP/1.1\r\n\(host)\r\n", ["GET http://a/b?c"]),
        ("GET HTTPS://A HTTP/1.1\r\n\(host)\r\n", ["GET HTTPS://A"]),
        ("GET / HTTP/1.1\r\nhOsT:\ta:80 \t\r\nX:\r\n\r\n", ["GET /"]),
        ("GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n", ["GET /"]),
        ("GET / HTTP/1.1\r\nHost: [::ffff:1.2.3.4]\r\n\r\n", ["GET /"]),
        ("GET / HTTP/1.1\r\nHost: 127.0.0.1:\r\n\r\n", ["GET /"]),
        ("GET / HTTP/1.1\r\nHost: a_b.example.com.\r\nX: \u{e9}\r\n\r\n", ["GET /"]),
        (
            "POST / HTTP/1.1\r\n\(host)Content-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\n\(host)\r\n",
            ["POST / abc", "GET /"]
        ),
        ("POST / HTTP/1.1\r\n\(host)Content-Length: 003\r\n\r\nabc", ["POST / abc"]),
        ("POST / HTTP/1.1\r\n\(host)Content-Length: 0\r\n\r\n", ["POST /"]),
        ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding: Chunked\r\n\r\n0\r\n\r\n", ["POST / "]),
        (
            "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n"
                + "5\r\nhello\r\nA ;x\r\n, world ok\r\n000\r\nX: y\r\n\r\n",
            ["POST / hello, world ok"]
        ),
        (
            "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n1;a=b ; c = \"d;\\\"\t\" \r\nx\r\n0;e\r\n\r\n",
            ["POST / x"]
        ),
    ]

    static let refused: [(String, Refusal)] = [
        ("\r\n\r\nGET / HTTP/1.1\r\n", .malformed(.blankLines)),
        ("\nGET / HTTP/1.1\r\n", .malformed(.lineEnding)),
        ("(GET / HTTP/1.1\n", .malformed(.method)),
        ("GET / HTTP/1.1\n", .malformed(.lineEnding)),
        ("GET / HTTP/1.1\r\nHost: a\n", .malformed(.lineEnding)),
        ("\u{16}\u{3}\u{1}", .malformed(.method)),
        ("G@T / HTTP/1.1\r\n", .malformed(.method)),
        ("GET\r\n", .malformed(.requestLine)),
        ("GET /\r\n", .malformed(.requestLine)),
        ("GET  / HTTP/1.1\r\n", .malformed(.requestLine)),
        ("GET / HTTP/1.1 \r\n", .malformed(.requestLine)),
        ("GET / a HTTP/1.1\r\n", .malformed(.requestLine)),
        ("GET\t/ HTTP/1.1\r\n", .malformed(.method)),
        ("GET / http/1.1\r\n", .malformed(.version)),
        ("GET / HTTP/1.10\r\n", .malformed(.version)),
        ("GET / HTTP/2.0\r\n", .unsupportedVersion),
        ("PRI * HTTP/2.0\r\n", .unsupportedVersion),
        ("GET * HTTP/1.1\r\n", .malformed(.target)),
        ("GET a/b HTTP/1.1\r\n", .malformed(.target)),
        ("GET /a#b HTTP/1.1\r\n", .malformed(.target)),
        ("GET /a[b HTTP/1.1\r\n", .malformed(.target)),
        ("GET /\u{e9} HTTP/1.1\r\n", .malformed(.target)),
        ("GET ftp://a/ HTTP/1.1\r\n", .malformed(.target)),
        ("GET http:/// HTTP/1.1\r\n", .malformed(.target)),
        ("GET http://u@a/ HTTP/1.1\r\n", .malformed(.target)),
        ("CONNECT a:80 HTTP/1.1\r\n", .malformed(.connect)),
        ("TRACE / HTTP/1.1\r\n\(host)Content-Length: 1\r\n\r\n", .malformed(.traceContent)),
        ("TRACE / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n", .malformed(.traceContent)),
        ("GET /%zz HTTP/1.1\r\n\(host)\r\n", .malformed(.targetEncoding)),
        ("GET /%4 HTTP/1.1\r\n\(host)\r\n", .malformed(.targetEncoding)),
        ("GET /%00 HTTP/1.1\r\n\(host)\r\n", .malformed(.targetEncoding)),
        ("GET /%ff HTTP/1.1\r\n\(host)\r\n", .malformed(.targetEncoding)),
        ("GET /?a=%c0%af HTTP/1.1\r\n\(host)\r\n", .malformed(.targetEncoding)),
        ("GET / HTTP/1.1\r\n Host: a\r\n", .malformed(.folding)),
        ("GET / HTTP/1.1\r\n\(host)X: a\r\n b\r\n", .malformed(.folding)),
        ("GET / HTTP/1.1\r\nHost\r\n", .malformed(.fieldWithoutColon)),
        ("GET / HTTP/1.1\r\nHost : a\r\n", .malformed(.fieldName)),
        ("GET / HTTP/1.1\r\n: a\r\n", .malformed(.fieldName)),
        ("GET / HTTP/1.1\r\nX(: a\r\n", .malformed(.fieldName)),
        ("GET / HTTP/1.1\r\nX: a\rb\r\n", .malformed(.fieldValue)),
        ("GET / HTTP/1.1\r\nX: a\u{0}\r\n", .malformed(.fieldValue)),
        ("GET / HTTP/1.1\r\nX: \u{7f}\r\n", .malformed(.fieldValue)),
        ("GET / HTTP/1.1\r\n\r\n", .malformed(.noHost)),
        ("GET / HTTP/1.1\r\n\(host)\(host)", .malformed(.repeatedField)),
        ("GET http://b/ HTTP/1.1\r\n\(host)\r\n", .malformed(.host)),
        ("POST / HTTP/1.1\r\n\(host)Content-Length: 1\r\nContent-Length: 1\r\n", .malformed(.repeatedField)),
        ("POST / HTTP/1.1\r\n\(host)Content-Length: 1, 1\r\n", .malformed(.contentLength)),
        ("POST / HTTP/1.1\r\n\(host)Content-Length: +1\r\n", .malformed(.contentLength)),
        ("POST / HTTP/1.1\r\n\(host)Content-Length: \r\n", .malformed(.contentLength)),
        ("POST / HTTP/1.1\r\n\(host)Content-Length: 9223372036854775808\r\n", .malformed(.contentLength)),
        ("POST / HTTP/1.1\r\n\(host)Content-Length: 00000000000000000001\r\n", .malformed(.contentLength)),
        (
            "POST / HTTP/1.1\r\n\(host)Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            .malformed(.ambiguousLength)
        ),
        ("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", .malformed(.transferCodingInOldVersion)),
        (
            "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            .malformed(.transferCoding)
        ),
        ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding: gzip\r\n\r\n", .malformed(.transferCoding)),
        ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding: \r\n\r\n", .malformed(.transferCoding)),
        ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked, chunked\r\n\r\n", .malformed(.transferCoding)),
        ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked,\r\n\r\n", .malformed(.transferCoding)),
        ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding: \u{b}chunked\r\n", .malformed(.fieldValue)),
        ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding: gzip, chunked\r\n\r\n", .unsupportedTransferCoding),
    ]

    static let hosts = [
        "", ":80", "a:b", "a:1:2", "a:65536", "[::1", "[::1]x", "[::g]", "[fe80::1%25eth0]", "[v1.a]", "a b", "a,b",
        "a%41", "1", "0x7f.1",
        "1.2.3", "256.1.1.1", "01.2.3.4", "a..b", ".a", ".", "a@b", "a/b", "1.2.3.4.",
    ]

    static let chunks: [(String, Refusal)] = [
        ("g\r\n", .malformed(.chunkSize)), ("\r\n", .malformed(.chunkSize)), ("-1\r\n", .malformed(.chunkSize)),
        ("0x1\r\n", .malformed(.chunkSize)), ("1 \r\n", .malformed(.chunkSize)), (" 1\r\n", .malformed(.chunkSize)),
        ("1000000000000000\r\n", .malformed(.chunkSize)), ("00000000000000001\r\n", .malformed(.chunkSize)),
        ("1\n", .malformed(.lineEnding)), ("1\rx", .malformed(.lineEnding)),
        ("1;\r\n", .malformed(.chunkExtension)), ("1;a=\r\n", .malformed(.chunkExtension)),
        ("1;a=\"b\r\n", .malformed(.chunkExtension)), ("1;a\u{1}\r\n", .malformed(.chunkExtension)),
        ("1;a b\r\n", .malformed(.chunkExtension)), ("1;a\n", .malformed(.chunkExtension)),
        ("1\r\nab", .malformed(.chunkEnd)), ("1\r\na\n", .malformed(.chunkEnd)), ("1\r\na\r\r", .malformed(.chunkEnd)),
        ("0\r\nX\r\n", .malformed(.trailer)), ("0\r\n X: y\r\n", .malformed(.trailer)),
        ("0\r\nX : y\r\n", .malformed(.trailer)),
        ("0\r\nX: y\n", .malformed(.trailer)), ("0\r\n\n", .malformed(.trailer)), ("0\r\n\rx", .malformed(.lineEnding)),
    ]

    @Test(arguments: accepted) func acceptsAtEverySplit(stream: String, messages: [String]) {
        for reading in Array(stream.utf8).parsedAtEverySplit() {
            #expect(reading.messages == messages && reading.refusal == nil && !reading.isWithinMessage, "\(reading)")
        }
    }

    @Test(arguments: refused) func refusesAtEverySplit(stream: String, refusal: Refusal) {
        let latin = stream.unicodeScalars.map { UInt8($0.value) }
        for reading in latin.parsedAtEverySplit() {
            #expect(reading.refusal == refusal && reading.messages.isEmpty, "\(reading)")
        }
    }

    @Test(arguments: hosts) func refusesAnInvalidHost(host: String) {
        for reading in Array("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n".utf8).parsedAtEverySplit() {
            #expect(reading.refusal == .malformed(.host), "\(reading)")
        }
    }

    @Test(arguments: chunks) func refusesMalformedChunks(body: String, refusal: Refusal) {
        let stream = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + body
        for reading in Array(stream.utf8).parsedAtEverySplit() { #expect(reading.refusal == refusal, "\(reading)") }
    }

    @Test func everyOctetOfAFieldNameAndValueIsJudged() {
        let tchar = Set("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
        for octet in UInt8.min...UInt8.max where octet != UInt8(ascii: ":") {
            let name = Array("GET / HTTP/1.1\r\nHost: a\r\nX".utf8) + [octet] + Array("X: y\r\n\r\n".utf8)
            #expect((ParsedStream(name).refusal == nil) == tchar.contains(octet), "octet \(octet) in a name")
            let value = Array("GET / HTTP/1.1\r\nHost: a\r\nX: a".utf8) + [octet] + Array("b\r\n\r\n".utf8)
            let isContent = octet == 9 || (octet >= 32 && octet != 127)
            #expect((ParsedStream(value).refusal == nil) == isContent, "octet \(octet) in a value")
            for place in [0, 7, 15, 16, 31, 39] {
                var long = [UInt8](repeating: UInt8(ascii: "a"), count: 40)
                long[place] = octet
                let head = Array("GET / HTTP/1.1\r\nHost: a\r\nX: a".utf8) + long + Array("b\r\n\r\n".utf8)
                #expect((ParsedStream(head).refusal == nil) == isContent, "octet \(octet) at \(place) of a long value")
            }
        }
    }

    @Test func aHeadHasItsOwnFieldsAlone() {
        var parser = RequestParser(limits: MessageLimits())
        for count in [3, 1, 0, 40, 2, 9] {
            let fields = (0..<count).map { "X: \(count)-\($0)\r\n" }.joined()
            let progress = Array("GET / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n".utf8).withUnsafeBytes { parser.parse($0) }
            guard case .complete(let head, _) = progress else {
                Issue.record("not complete")
                continue
            }
            parser.restart()
            #expect(head.values(of: "x") == (0..<count).map { "\(count)-\($0)" })
        }
    }

    @Test func eachLimitHoldsAtItsValueAndFailsOnePast() {
        let limits = MessageLimits()
        let line = { (count: Int) in "GET /\(String(repeating: "a", count: count - 14)) HTTP/1.1\r\n" }
        #expect(ParsedStream(line(16384) + "Host: a\r\n\r\n").messages.count == 1)
        #expect(ParsedStream(line(16385) + "Host: a\r\n\r\n").refusal == .uriTooLong(limit: 16384))
        #expect(ParsedStream(String(repeating: "a", count: 16386)).refusal == .uriTooLong(limit: 16384))
        let field = { (count: Int) in
            "GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "a", count: count - 14))\r\n\r\n"
        }
        #expect(ParsedStream(field(limits.maxHeaderBytes)).messages.count == 1)
        #expect(ParsedStream(field(limits.maxHeaderBytes + 1)).refusal == .headersTooLarge(limit: 32768, unit: .octets))
        let fields = { (count: Int) in
            "GET / HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X: a\r\n", count: count - 1) + "\r\n"
        }
        #expect(ParsedStream(fields(100)).messages.count == 1)
        #expect(ParsedStream(fields(101)).refusal == .headersTooLarge(limit: 100, unit: .fields))
    }

    @Test func costlyFramingIsBounded() {
        let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        let long = { (count: Int) in "1;" + String(repeating: "a", count: count) + "\r\nx\r\n" }
        #expect(ParsedStream(head + long(1000) + "0\r\n\r\n").messages.count == 1)
        #expect(ParsedStream(head + long(1021)).refusal == .malformed(.chunkExtension))
        #expect(ParsedStream(head + String(repeating: long(1000), count: 10)).refusal == .malformed(.chunkExtension))
        #expect(ParsedStream(head + String(repeating: long(15), count: 1000) + "0\r\n\r\n").messages.count == 1)
        let trailers = String(repeating: "a: b\r\n", count: 101)
        #expect(ParsedStream(head + "0\r\n" + trailers + "\r\n").refusal == .headersTooLarge(limit: 100, unit: .fields))
    }

    @Test func nothingBehindARefusedMessageIsRead() {
        let reading = ParsedStream(
            "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nX Y: z\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(reading.messages == ["GET /"] && reading.refusal == .malformed(.fieldName))
    }
}
