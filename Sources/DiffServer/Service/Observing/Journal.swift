import DiffSessions
import HTTPCore
import SnapshotKit
import Synchronization

/// The format of log lines.
package enum LogFormat: String, Sendable, CaseIterable {
    case text, json, none
}

/// The log of the service, on standard error. It never contains keys, tokens or clients' bodies; of a source's answer,
/// what is wrong in its first wrong place.
package final class Journal: Sendable {
    package let output: LogOutput
    private let format: LogFormat
    private let logsRequests: Atomic<Bool>
    /// In nanoseconds.
    private let longest: Atomic<Int64>
    /// Troubled sessions and refused origins that are in the log, and how many are remembered.
    private let troubled = Locked(Set<String>())
    private let mostTroubled: Int

    package init(
        format: LogFormat, logsRequests: Bool, slow: Int? = nil, output: LogOutput = .standardError,
        mostTroubled: Int = 1000
    ) {
        (self.format, self.output, self.mostTroubled) = (format, output, mostTroubled)
        self.logsRequests = Atomic(logsRequests)
        longest = Atomic(Self.nanoseconds(slow))
    }

    /// Logs all requests from now on or not, and those that take longer than `slow` milliseconds; nil: none of these.
    package func change(logsRequests: Bool, slow: Int?) {
        self.logsRequests.store(logsRequests, ordering: .relaxed)
        longest.store(Self.nanoseconds(slow), ordering: .relaxed)
    }

    private static func nanoseconds(_ slow: Int?) -> Int64 { slow.map { Int64($0) * 1_000_000 } ?? .max }

    var logsSlow: Bool { longest.load(ordering: .relaxed) < .max }

    /// The names and values behind a message; those that are nil are left out.
    package typealias Members = [(String, LogValue?)]

    package func log(_ message: String, level: String = "info", _ members: Members = []) {
        guard format != .none else { return }
        output.append(line(message, level, members)) { [self] count in
            let dropped = count.map { "\($0) log lines were dropped here" }
            return line(dropped ?? "dropping log lines: the log is not read fast enough", "warning", [])
        }
    }

    /// Logs a problem of a session, but once, until many others had problems.
    func logOnce(_ message: String, about session: String) {
        if isNews(session) { log(message, level: "error", [("session", .text(session))]) }
    }

    /// Whether a session or an origin is not in the log yet, or many others came since.
    func isNews(_ name: String) -> Bool {
        troubled.withLock { troubled in
            if troubled.count >= mostTroubled, !troubled.contains(name) { troubled.removeAll() }
            return troubled.insert(name).inserted
        }
    }

    private func line(_ message: String, _ level: String, _ members: Members) -> [UInt8] {
        if format == .json { return Self.json(message, level, members) }
        return Array("\(WallTime.presentText) \(Self.text(message, level, members))\n".utf8)
    }

    /// A line without its time.
    static func text(_ message: String, _ level: String, _ members: Members) -> String {
        let scalars = message.printable.unicodeScalars
        let line = scalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : String($0) }.joined()
        let words = members.compactMap { name, value in value.map { "\(name)=\($0.text)" } }
        return ([level == "info" ? line : "\(level): \(line)"] + words).joined(separator: " ")
    }

    static func json(_ message: String, _ level: String, _ members: Members) -> [UInt8] {
        var line = JSONObject()
        line.text("time", WallTime.presentText)
        line.text("level", level)
        line.text("message", message)
        for case (let name, let value?) in members {
            line.name(of: name)
            switch value {
            case .text(let text): line.writer.append(string: text.printable)
            case .number(let number): line.writer.append(number)
            }
        }
        return line.body()
    }

    /// Writes what must be read even without a log, such as why the process ends; as a line of JSON if the log is JSON.
    package func insist(_ message: String, level: String) {
        let lines = message.split(separator: "\n").map { "\(WallTime.presentText) \(String($0).escaped)\n" }
        output.append(format == .json ? Self.json(message, level, []) : Array(lines.joined().utf8))
    }

    /// Logs a request, without its query, which may contain private names of items or, by mistake, a token. One that
    /// failed without a reason is always logged: that is a bug.
    func record(_ exchange: ExchangeSummary, as label: AnswerLabel) {
        if let times = exchange.note.times { recordSlow(exchange, times) }
        let isBug = exchange.status == 500 && label.problem == nil
        guard logsRequests.load(ordering: .relaxed) || isBug else { return }
        let head = exchange.head
        log(
            "request", level: isBug ? "error" : "info",
            [
                ("method", .text(exchange.method?.name ?? "-")), ("path", .text(head?.instance ?? "-")),
                ("status", .number(exchange.knownStatus)), ("problem", .ifAny(label.problem?.name)),
                ("who", .ifAny(exchange.note.caller)), ("session", Self.session(of: head)),
                ("bytesIn", .number(exchange.bytesIn)), ("bytesOut", .number(exchange.bytesOut)),
                ("microseconds", .number(Int(exchange.nanoseconds / 1000))), ("peer", .text(exchange.peer.address)),
                ("requestId", .text(exchange.requestID)), ("traceparent", .ifAny(TraceParent.value(of: head))),
            ])
    }

    private static func session(of head: RequestHead?) -> LogValue? {
        head.flatMap(DiffService.session).flatMap { SessionName.isWhole($0) ? .text($0) : nil }
    }

    /// Logs a request if it took long, but for the time that it was held, and where that went.
    private func recordSlow(_ exchange: ExchangeSummary, _ times: RequestTimes) {
        let longest = longest.load(ordering: .relaxed)
        guard exchange.nanoseconds > longest else { return }
        let times = times.values()
        let time = Duration.nanoseconds(exchange.nanoseconds) - (times[.held] ?? .zero)
        guard time.wholeNanoseconds > longest else { return }
        let milliseconds = { (time: Duration) in LogValue.number(Int(time.wholeNanoseconds / 1_000_000)) }
        var members: Members = [
            ("method", .text(exchange.method?.name ?? "-")),
            ("route", .text(exchange.head.map(DiffService.route)?.rawValue ?? "-")),
            ("session", Self.session(of: exchange.head)), ("status", .number(exchange.knownStatus)),
            ("milliseconds", milliseconds(time)),
        ]
        for part in RequestTimes.Part.allCases where part != .held {
            members.append((part.rawValue, milliseconds(times[part] ?? .zero)))
        }
        members.append(("requestId", .text(exchange.requestID)))
        log("slow request", level: "warning", members)
    }
}

/// A value in a log line.
package enum LogValue {
    case text(String)
    case number(Int)

    /// Plain if it is one printable word, otherwise a JSON string, so that no value can break its line or imitate
    /// another.
    var text: String {
        switch self {
        case .text(let text):
            if !text.isEmpty, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") }) {
                return text
            }
            var writer = JSONWriter()
            writer.append(string: text.printable)
            return String(decoding: writer.bytes(), as: UTF8.self)
        case .number(let number): return "\(number)"
        }
    }
}

extension LogValue? {
    /// A text, if there is one.
    package static func ifAny(_ text: String?) -> LogValue? { text.map(LogValue.text) }
}

extension String {
    /// The text with U+FFFD for each invisible character, except controls below U+007F, which a JSON writer escapes.
    package var printable: String {
        if utf8.allSatisfy({ $0 < 0x7F }) { return self }
        let shown = unicodeScalars.map { $0.isInvisible && $0.value >= 0x7F ? "\u{FFFD}" : $0 }
        return String(String.UnicodeScalarView(shown))
    }

    /// The text with escapes, as JSON writes them, for each invisible character, and so in one line. O(bytes).
    package var escaped: String {
        if utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return self }
        return unicodeScalars.map { scalar in
            guard scalar.isInvisible else { return String(scalar) }
            return UTF16.encode(scalar)!.map { unit in
                let digits = String(unit, radix: 16)
                return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }.joined()
        }.joined()
    }
}

/// `traceparent` (W3C Trace Context §3.2), which ties a request's log line to those of its client, and to those of
/// the hook or the source that is asked for it.
package enum TraceParent {
    /// The value, if it was sent once and is valid: nothing else goes into the log, or further.
    package static func value(of head: RequestHead?) -> String? {
        guard let values = head?.values(of: "traceparent"), values.count == 1, isValid(values[0]) else { return nil }
        return values[0]
    }

    /// The request fields that `value` reads.
    static func fields(of head: RequestHead) -> [Field] { value(of: head).map { [Field("traceparent", $0)] } ?? [] }

    /// `version-traceid-parentid-flags` in lower-case hexadecimal. No id may be all zeros, nor the version `ff`.
    private static func isValid(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.map(\.count) == [2, 32, 16, 2] else { return false }
        let isHex = parts.joined().allSatisfy { $0.isDigit || $0 &- UInt8(ascii: "a") < 6 }
        let areNonZero = [1, 2].allSatisfy { part in parts[part].contains { $0 != UInt8(ascii: "0") } }
        return isHex && areNonZero && !parts[0].elementsEqual("ff".utf8)
    }
}
