import HTTPCore
import SnapshotKit

/// How log lines look.
enum LogFormat: String, Sendable {
    case text, json, none
}

/// What the service tells about itself: log lines to standard error. No body, no key and no token is ever in it.
final class Journal: Sendable {
    private let format: LogFormat
    private let logsRequests: Bool

    init(format: LogFormat, logsRequests: Bool) {
        self.format = format
        self.logsRequests = logsRequests
    }

    /// One line.
    func log(_ message: String, level: String = "info", _ members: [(String, LogValue)] = []) {
        switch format {
        case .none: return
        case .text: Files.write(Array((text(message, level, members) + "\n").utf8), to: 2)
        case .json: Files.write(json(message, level, members), to: 2)
        }
    }

    private func text(_ message: String, _ level: String, _ members: [(String, LogValue)]) -> String {
        ([level == "info" ? message : "\(level): \(message)"] + members.map { "\($0.0)=\($0.1.text)" }).joined(separator: " ")
    }

    private func json(_ message: String, _ level: String, _ members: [(String, LogValue)]) -> [UInt8] {
        var writer = JSONWriter()
        writer.append("{\"time\":")
        writer.append(string: WallTime.now.text)
        writer.append(",\"level\":")
        writer.append(string: level)
        writer.append(",\"message\":")
        writer.append(string: message)
        for (name, value) in members {
            writer.append(",\"")
            writer.append(verbatim: name)
            writer.append("\":")
            switch value {
            case .text(let text): writer.append(string: text)
            case .number(let number): writer.append(number)
            }
        }
        writer.append("}\n")
        return writer.bytes()
    }

    // MARK: What happens

    /// What ties a request to those that caused it, where the client says so (W3C Trace Context, and the usual X-Request-Id).
    private static let traces = [("requestId", "x-request-id"), ("traceparent", "traceparent")]

    func record(_ exchange: ExchangeSummary) {
        guard logsRequests else { return }
        log(
            "request", level: "info",
            [
                ("method", .text(exchange.method?.name ?? "-")), ("target", .text(exchange.target)),
                ("status", .number(exchange.status)), ("bytesIn", .number(exchange.bytesIn)),
                ("bytesOut", .number(exchange.bytesOut)),
                ("microseconds", .number(Int(exchange.duration / .microseconds(1)))),
                ("peer", .text(exchange.peer.address)),
            ] + Self.traces.compactMap { name, field in exchange.head?[field].map { (name, .text($0)) } })
    }

}

/// A value in a log line.
enum LogValue {
    case text(String)
    case number(Int)

    var text: String {
        switch self {
        case .text(let text): text
        case .number(let number): "\(number)"
        }
    }
}
