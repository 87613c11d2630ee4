import Testing

@testable import HTTPCore

@Suite struct RequestIDTests {
    private func id(_ fields: String) throws -> String {
        RequestID(head: try RequestHead(parsing: "GET / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n"), made: 0xA0).text
    }

    @Test(arguments: [
        "7", "f47ac10b-58cc-4372-a567-0e02b2c3d479", "a.b_c~d:e+f/g=h@i", "!\"#$%&'()*,;<>?[]^`{|}\\",
        String(repeating: "x", count: 128),
    ])
    func `a client's id is kept`(_ own: String) throws { #expect(try id("x-request-ID: \(own)\r\n") == own) }

    @Test(arguments: [
        "", "two words", "é", "a\tb", String(repeating: "x", count: 129), "a\r\nX-Request-Id: a",
        "a\r\nX-Request-Id: ",
    ])
    func `another is replaced`(_ own: String) throws {
        #expect(try id("X-Request-Id: \(own)\r\n") == "00000000000000a0")
    }

    @Test func `without one it is made`() throws {
        // A field whose name is as long as `X-Request-Id`.
        #expect(try id("Content-Type: text/plain\r\n") == "00000000000000a0")
        #expect(RequestID(head: nil, made: .max).text == "ffffffffffffffff")
        for made: UInt64 in [0x0123_4567_89AB_CDEF, 0xFEDC_BA98_7654_3210, 0, 1, 1 << 63] {
            let text = String(made, radix: 16)
            #expect(RequestID(head: nil, made: made).text == String(repeating: "0", count: 16 - text.count) + text)
        }
    }

    @Test func `no two that are made are the same`() {
        var (one, other) = (RequestIDs(), RequestIDs())
        let made = (0..<10_000).flatMap { _ in [one.next(), other.next()] }
        #expect(Set(made).count == made.count)
    }
}
