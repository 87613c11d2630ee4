/// Writes heads and chunks of answers, to a buffer that may hold earlier answers of the connection.
enum ResponseEncoder {
    /// How the end of the body is marked (RFC 9112 §6.3).
    enum Framing: Equatable {
        /// No body and no length: 204.
        case none
        case length(Int)
        case chunked
        case untilClose
    }

    /// What the answer says about the connection. HTTP/1.1 keeps it open by default, HTTP/1.0 does not.
    enum Persistence: Equatable {
        case implicit, keepAlive, close
    }

    static let continueLine: StaticString = "HTTP/1.1 100 Continue\r\n\r\n"

    static func appendHead(
        status: Int, fields: [Field], framing: Framing, persistence: Persistence, date: [UInt8],
        to buffer: OutputBuffer
    ) {
        // Every answer forbids sniffing its type (Fetch Standard, "nosniff").
        if status == 200 {
            buffer.append("HTTP/1.1 200 OK\r\nX-Content-Type-Options: nosniff\r\n")
        } else {
            buffer.append("HTTP/1.1 ")
            buffer.append(decimal: status)
            buffer.append(" ")
            buffer.append(reason(status))
            buffer.append("\r\nX-Content-Type-Options: nosniff\r\n")
        }
        buffer.append(date)
        switch framing {
        case .none, .untilClose: break
        case .length(let count):
            buffer.append("Content-Length: ")
            buffer.append(decimal: count)
            buffer.append("\r\n")
        case .chunked: buffer.append("Transfer-Encoding: chunked\r\n")
        }
        switch persistence {
        case .implicit: break
        case .keepAlive: buffer.append("Connection: keep-alive\r\n")
        case .close: buffer.append("Connection: close\r\n")
        }
        fields.withUnsafeBufferPointer { fields in
            for index in fields.indices {
                buffer.append(text: fields[index].name)
                buffer.append(": ")
                buffer.append(fieldValue: fields[index].value)
                buffer.append("\r\n")
            }
        }
        buffer.append("\r\n")
    }

    /// Appends a chunk; nothing for no bytes, since an empty chunk would end the body.
    static func append(chunk: UnsafeRawBufferPointer, to buffer: OutputBuffer) {
        guard !chunk.isEmpty else { return }
        buffer.append(hexadecimal: chunk.count)
        buffer.append("\r\n")
        buffer.append(chunk)
        buffer.append("\r\n")
    }

    static func appendLastChunk(to buffer: OutputBuffer) {
        buffer.append("0\r\n\r\n")
    }

    /// The reason phrase (RFC 9110 §15); empty for a status that is not in use here.
    static func reason(_ status: Int) -> StaticString {
        switch status {
        case 200: "OK"
        case 201: "Created"
        case 204: "No Content"
        case 304: "Not Modified"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 406: "Not Acceptable"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 410: "Gone"
        case 412: "Precondition Failed"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 417: "Expectation Failed"
        case 422: "Unprocessable Content"
        case 428: "Precondition Required"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 503: "Service Unavailable"
        case 505: "HTTP Version Not Supported"
        default: ""
        }
    }
}
