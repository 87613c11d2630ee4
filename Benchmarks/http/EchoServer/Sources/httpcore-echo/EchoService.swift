import HTTPCore

/// The smallest service that shows every way through the server.
///
///     GET  /healthz   200 with a short text
///     GET  /later     the same, from a pending exchange 10 ms later
///     GET  /stream    ten chunks, 10 ms apart
///     GET  /large     1 MiB, compressible
///     POST /echo      the body; PUT and PATCH too
///     POST /sink      a short text, once the body has been read
final class EchoService: Service {
    private static let text = Array("ok\n".utf8)
    private static let large = Array(repeating: Array("0123456789abcdef".utf8), count: 65_536).flatMap(\.self)
    private static let textFields = [Field("Content-Type", "text/plain; charset=utf-8")]

    func admit(_ head: RequestHead, from peer: Peer, on loop: EventLoop, noting note: inout ExchangeNote) -> Admission {
        if head.isServerWide {
            return .answer(Response(status: 204, fields: [Field("Allow", "GET, HEAD, OPTIONS, POST, PUT")]))
        }
        switch head.path {
        case ["healthz"] where head.method == .get: return .answer(Self.answer(Self.text))
        case ["healthz"]: return get(head) { .now(Self.answer(Self.text)) }
        case ["large"]: return get(head) { .now(Self.answer(Self.large)) }
        case ["later"]: return get(head) { .later(Self.later) }
        case ["stream"]:
            return get(head) {
                .now(Response(status: 200, fields: Self.textFields, body: .stream { Self.stream($0, 10) }))
            }
        case ["echo"]: return echo(head)
        case ["sink"]: return .read(maxBytes: 16 * 1024 * 1024) { _, _ in .now(Self.answer(Self.text)) }
        default: return .answer(Response(status: 404, text: "no such path\n"))
        }
    }

    func refusal(_ refusal: Refusal, target: String?) -> Response {
        Response(status: refusal.status, text: "\(refusal)\n")
    }

    private func get(_ head: RequestHead, _ answer: @escaping () -> Reply) -> Admission {
        switch head.method {
        case .get, .head: .read(maxBytes: 1024 * 1024) { _, _ in answer() }
        case .options: .answer(Response(status: 204, fields: [Field("Allow", "GET, HEAD, OPTIONS")]))
        case .post, .put, .delete, .patch, .other:
            .answer(Response(status: 405, text: "no such method\n", fields: [Field("Allow", "GET, HEAD, OPTIONS")]))
        }
    }

    private func echo(_ head: RequestHead) -> Admission {
        .read(maxBytes: 16 * 1024 * 1024) { body, _ in .now(Self.answer(body)) }
    }

    private static func answer(_ body: [UInt8]) -> Response {
        Response(status: 200, fields: textFields, body: .bytes(body), isCompressible: true)
    }

    private static func later(_ pending: Pending) {
        pending.loop.schedule(after: .milliseconds(10)) { pending.answer(answer(text)) }
    }

    private static func stream(_ writer: StreamWriter, _ left: Int) {
        guard left > 0, !writer.isClosed else { return writer.finish() }
        writer.write(Array("chunk \(left)\n".utf8))
        writer.loop.schedule(after: .milliseconds(10)) { stream(writer, left - 1) }
    }
}
