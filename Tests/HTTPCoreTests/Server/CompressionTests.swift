import Testing

@testable import HTTPCore

@Suite struct CompressionTests {
    private func gzip(_ text: String) throws -> [UInt8] { try #require(Deflater().compressed(Array(text.utf8)[...])) }

    private func post(_ body: [UInt8], _ path: String = "/echo") -> [UInt8] {
        Array(
            "POST \(path) HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nContent-Length: \(body.count)\r\n\r\n".utf8)
            + body
    }

    private func ask(_ server: TestServer, _ bytes: [UInt8]) throws -> String {
        let client = try Client(server.address)
        client.send(bytes)
        client.finishSending()
        return client.receiveToEnd()
    }

    @Test func aBodyIsInflated() throws {
        let server = try TestServer()
        let text = String(repeating: "hello ", count: 10_000)
        #expect(try ask(server, post(gzip(text))).hasSuffix("\r\n\r\n" + text))
        // Two members are one body.
        #expect(
            try ask(server, post(gzip(text) + gzip("hello ", padded: true))).hasSuffix("\r\n\r\n" + text + "hello "))
    }

    /// The end of a chunked body comes after all of its content.
    @Test func aChunkedBodyIsInflated() throws {
        let server = try TestServer()
        let text = String(repeating: "hello ", count: 10_000)
        let sent = try gzip(text) + gzip("hello ", padded: true)
        for size in [1, 100, sent.count] {
            var request = Array(
                "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
            for start in stride(from: 0, to: sent.count, by: size) {
                let chunk = sent[start..<min(start + size, sent.count)]
                request += Array("\(String(chunk.count, radix: 16))\r\n".utf8) + chunk + Array("\r\n".utf8)
            }
            let answer = try ask(server, request + Array("0\r\n\r\n".utf8))
            #expect(answer.hasSuffix("\r\n\r\n" + text + "hello "))
        }
    }

    @Test func aBombStopsAtTheLimit() throws {
        let server = try TestServer()
        let bomb = try gzip(String(repeating: "a", count: 50_000_000))
        #expect(bomb.count < 300_000)
        let chunked = Array(
            "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
        let answer = try ask(server, chunked + Array("\(String(bomb.count, radix: 16))\r\n".utf8) + bomb)
        #expect(answer.hasPrefix("HTTP/1.1 413"))
        let small = try gzip(String(repeating: "a", count: 100_001))
        #expect(try ask(server, post(small)).hasPrefix("HTTP/1.1 413"))
        #expect(try ask(server, post(gzip(String(repeating: "a", count: 100_000)))).hasPrefix("HTTP/1.1 200"))
    }

    /// A bomb is detected by its ratio, before any limit is reached, and nothing more is inflated.
    @Test func aBombIsSeenByItsRatio() throws {
        let inflater = Inflater()
        var body: [UInt8] = []
        let bomb = try gzip(String(repeating: "a", count: 10_000_000))
        let outcome = bomb.withUnsafeBytes { inflater.inflate($0, into: &body, limit: .max) }
        #expect(outcome == .tooDense)
        #expect(body.count <= Inflater.ratioFreeBytes)
    }

    /// Input comes octet by octet, so that each step is checked.
    @Test func whatIsBelowTheRatioIsInflated() throws {
        let rows = (0..<10_000).map {
            #"{"id":"item-\#($0)","content":{"title":"Item \#($0)","done":false,"tags":[]}}"#
        }
        let text = "[\(rows.joined(separator: ","))]"
        let sent = try gzip(text)
        #expect(text.utf8.count > Inflater.ratioFreeBytes * 2)
        #expect(text.utf8.count < sent.count * Inflater.maxRatio / 3)
        let inflater = Inflater()
        var body: [UInt8] = []
        for octet in sent {
            #expect(withUnsafeBytes(of: octet) { inflater.inflate($0, into: &body, limit: .max) } == .more)
        }
        #expect(body == Array(text.utf8) && inflater.isComplete)
    }

    @Test func aBrokenBodyIsRefused() throws {
        let server = try TestServer()
        let whole = try gzip(String(repeating: "hello ", count: 100))
        for body in [
            Array("plain".utf8), Array(whole.dropLast()), whole + [0], Array(whole.dropLast(4)) + [0, 0, 0, 0],
        ] {
            #expect(try ask(server, post(body)).hasPrefix("HTTP/1.1 400"))
        }
    }

    @Test func anAnswerIsCompressedFromItsSizeOnAndIfWanted() throws {
        let server = try TestServer()
        func answer(_ size: Int, _ fields: String) throws -> String {
            let client = try Client(server.address)
            client.send("GET /bytes/\(size) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\(fields)\r\n")
            return client.receiveToEnd()
        }
        #expect(try answer(1024, "Accept-Encoding: gzip\r\n").contains("Content-Encoding: gzip\r\n"))
        #expect(try answer(1024, "Accept-Encoding: gzip\r\n").contains("Vary: Accept-Encoding\r\n"))
        #expect(try !answer(1023, "Accept-Encoding: gzip\r\n").contains("Content-Encoding"))
        #expect(
            try !answer(1024, "").contains("Content-Encoding") && answer(1024, "").contains("Vary: Accept-Encoding\r\n")
        )
        #expect(try answer(1_000_000, "Accept-Encoding: br, *;q=0.1\r\n").contains("Content-Encoding: gzip\r\n"))
    }

    @Test func theCodingFollowsTheWeights() throws {
        let rows: [(String?, Bool)] = [
            (nil, false), ("", false), ("gzip", true), ("x-gzip", true), ("GZIP;Q=0.5", true), ("gzip;q=0", false),
            ("*", true),
            ("*;q=0", false), ("identity", false), ("gzip;q=0.5, identity;q=0.6", false),
            ("gzip;q=0.6, identity;q=0.5", true),
            ("br, deflate", false), ("*, gzip;q=0", false), ("gzip;q=2", false), ("gzip; q=0.001", true),
            ("gzip;q=0.0001", false),
        ]
        for (value, accepts) in rows {
            let field = value.map { "Accept-Encoding: \($0)\r\n" } ?? ""
            let head = try RequestHead(parsing: "GET / HTTP/1.1\r\nHost: a\r\n\(field)\r\n")
            #expect(head.acceptsGzip == accepts, "\(value ?? "none")")
        }
    }

    @Test func aStrongTagNamesTheCoding() {
        let tagged = { (tag: String) in
            Response(status: 200, fields: [Field("etag", tag), Field("vary", "Origin")]).encoded(.bytes([1])).fields.map
            {
                "\($0.name): \($0.value)"
            }
        }
        #expect(tagged("\"a\"") == ["etag: \"a;gzip\"", "vary: Origin, Accept-Encoding", "Content-Encoding: gzip"])
        #expect(tagged("W/\"a\"").first == "etag: W/\"a\"")
        #expect(Response(status: 200, fields: [Field("Vary", "*")]).varying().fields == [Field("Vary", "*")])
    }

    private func gzip(_ text: String, padded: Bool) throws -> [UInt8] {
        // A short text would grow by compression, and `Deflater` leaves it alone: so it is stored (level 0) by hand.
        let bytes = Array(text.utf8)
        var crc: UInt32 = 0xFFFF_FFFF
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
        }
        let count = UInt16(bytes.count)
        let word = { (value: UInt32) in (0..<4).map { UInt8(value >> ($0 * 8) & 255) } }
        return [31, 139, 8, 0, 0, 0, 0, 0, 0, 3, 1, UInt8(count), 0, UInt8(~count & 255), 255] + bytes + word(~crc)
            + word(UInt32(count))
    }
}
