import Testing

@testable import HTTPCore

@Suite struct ResponseEncoderTests {
    private func text(_ write: (OutputBuffer) -> Void) -> String {
        let buffer = OutputBuffer(capacity: 1)
        write(buffer)
        return String(decoding: buffer.bytes, as: UTF8.self)
    }

    @Test func aHeadIsWrittenInOrder() {
        let head = text {
            ResponseEncoder.appendHead(
                status: 201, fields: [Field("Location", "/a")], framing: .length(12), persistence: .keepAlive,
                date: DateField.line(784_111_777), id: RequestID(head: nil, made: 0xAB), to: $0)
        }
        #expect(
            head
                == "HTTP/1.1 201 Created\r\nX-Content-Type-Options: nosniff\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
                + "X-Request-Id: 00000000000000ab\r\n"
                + "Content-Length: 12\r\nConnection: keep-alive\r\nLocation: /a\r\n\r\n")
    }

    @Test func aValueCannotEndItsLine() {
        let head = text {
            ResponseEncoder.appendHead(
                status: 200, fields: [Field("X", "a\r\nSet-Cookie: b\u{0}\tc")], framing: .none, persistence: .close,
                date: [], id: RequestID(head: nil, made: 0), to: $0)
        }
        #expect(
            head
                == "HTTP/1.1 200 OK\r\nX-Content-Type-Options: nosniff\r\nX-Request-Id: 0000000000000000\r\n"
                + "Connection: close\r\nX: a  Set-Cookie: b \tc\r\n\r\n")
    }

    @Test(arguments: [
        (0, "Thu, 01 Jan 1970 00:00:00"), (951_782_400, "Tue, 29 Feb 2000 00:00:00"),
        (951_868_799, "Tue, 29 Feb 2000 23:59:59"), (1_709_251_199, "Thu, 29 Feb 2024 23:59:59"),
        (1_709_251_200, "Fri, 01 Mar 2024 00:00:00"), (4_102_444_799, "Thu, 31 Dec 2099 23:59:59"),
    ]) func datesAreRight(seconds: Int, date: String) {
        #expect(String(decoding: DateField.line(seconds), as: UTF8.self) == "Date: \(date) GMT\r\n")
    }

    @Test func numbersAreRight() {
        for number in [0, 9, 10, 15, 16, 255, 256, 4096, 65_535, 1 << 40, 999_999, 1_000_000, .max] {
            #expect(text { $0.append(decimal: number) } == String(number))
        }
        #expect(
            text { ResponseEncoder.append(chunk: Array("0123456789abcdefgh".utf8), to: $0) }
                == "12\r\n0123456789abcdefgh\r\n")
    }
}
