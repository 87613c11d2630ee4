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

    /// Whether slow requests are logged.
    var logsSlow: Bool { longest.load(ordering: .relaxed) < .max }

    package func log(_ message: String, level: String = "info", _ members: [(String, LogValue)] = []) {
        guard format != .none else { return }
        output.append(line(message, level, members)) { [self] count in
            let words =
                count.map { "\($0) log lines were dropped here" }
                ?? "dropping log lines: the log is not read fast enough"
            return line(words, "warning", [])
        }
    }

    /// Logs a problem of a session, but once, until many others had problems.
    func logOnce(_ message: String, about session: String) {
        if isNews(session) { log(message, level: "error", [("session", .text(session))]) }
    }

    /// Logs, as seldom, that a web page cannot read its answers: the page itself cannot tell why.
    func logOnce(refusedOrigin origin: String) {
        if isNews(origin) {
            log("a page of \(origin) was refused: allow it with --origin \(origin)", level: "warning")
        }
    }

    private func isNews(_ name: String) -> Bool {
        troubled.withLock { troubled in
            if troubled.count >= mostTroubled, !troubled.contains(name) { troubled.removeAll() }
            return troubled.insert(name).inserted
        }
    }

    private func line(_ message: String, _ level: String, _ members: [(String, LogValue)]) -> [UInt8] {
        switch format {
        case .none: []
        case .text: Array("\(WallTime.presentText) \(Self.text(message, level, members))\n".utf8)
        case .json: Self.json(message, level, members)
        }
    }

    /// A line without its time.
    static func text(_ message: String, _ level: String, _ members: [(String, LogValue)]) -> String {
        let line = message.printable.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : String($0) }
            .joined()
        return ([level == "info" ? line : "\(level): \(line)"] + members.map { "\($0.0)=\($0.1.text)" }).joined(
            separator: " ")
    }

    static func json(_ message: String, _ level: String, _ members: [(String, LogValue)]) -> [UInt8] {
        var line = JSONObject()
        line.text("time", WallTime.presentText)
        line.text("level", level)
        line.text("message", message)
        for (name, value) in members {
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
        let lines = {
            message.split(separator: "\n").map { "\(WallTime.presentText) \(String($0).escaped)\n" }.joined()
        }
        output.append(format == .json ? Self.json(message, level, []) : Array(lines().utf8))
    }

    /// Logs a request, without its query, which may contain private names of items or, by mistake, a token. One that
    /// failed without a reason is always logged: that is a bug.
    func record(_ exchange: ExchangeSummary, as label: AnswerLabel) {
        if let times = exchange.note.times { recordSlow(exchange, times) }
        let isBug = exchange.status == 500 && label.problem == nil
        guard logsRequests.load(ordering: .relaxed) || isBug else { return }
        let head = exchange.head
        var members: [(String, LogValue)] = [
            ("method", .text(exchange.method?.name ?? "-")), ("path", .text(head?.instance ?? "-")),
            ("status", .number(exchange.knownStatus)),
        ]
        if let problem = label.problem { members.append(("problem", .text(problem.name))) }
        if let who = exchange.note.caller { members.append(("who", .text(who))) }
        members += Self.session(of: head)
        members += [
            ("bytesIn", .number(exchange.bytesIn)), ("bytesOut", .number(exchange.bytesOut)),
            ("microseconds", .number(Int(exchange.nanoseconds / 1000))), ("peer", .text(exchange.peer.address)),
            ("requestId", .text(exchange.requestID)),
        ]
        if let parent = TraceParent.value(of: head) { members.append(("traceparent", .text(parent))) }
        log("request", level: isBug ? "error" : "info", members)
    }

    private static func session(of head: RequestHead?) -> [(String, LogValue)] {
        guard let session = head.flatMap(DiffService.session), SessionName.isWhole(session) else { return [] }
        return [("session", .text(session))]
    }

    /// Logs a request if it took long, but for the time that it was held, and where that went.
    private func recordSlow(_ exchange: ExchangeSummary, _ times: RequestTimes) {
        let longest = longest.load(ordering: .relaxed)
        guard exchange.nanoseconds > longest else { return }
        let times = times.values()
        let time = Duration.nanoseconds(exchange.nanoseconds) - (times[.held] ?? .zero)
        guard time.wholeNanoseconds > longest else { return }
        let milliseconds = { (time: Duration) in LogValue.number(Int(time.wholeNanoseconds / 1_000_000)) }
        var members: [(String, LogValue)] = [
            ("method", .text(exchange.method?.name ?? "-")),
            ("route", .text(exchange.head.map(DiffService.route)?.rawValue ?? "-")),
        ]
        members += Self.session(of: exchange.head)
        members += [("status", .number(exchange.knownStatus)), ("milliseconds", milliseconds(time))]
        for part in RequestTimes.Part.allCases where part != .held {
            members.append((part.rawValue, milliseconds(times[part] ?? .zero)))
        }
        members.append(("requestId", .text(exchange.requestID)))
        log("slow request", level: "warning", members)
    }

    /// Logs for whom a token was made.
    func record(_ token: Token, by who: String?) {
        log(
            "token minted", who,
            [("sessions", token.sessions.joined(separator: ",")), ("client_id", token.client), ("jti", token.id)])
    }

    /// Logs that tokens of a session were revoked.
    ///
    /// - Parameter id: of the only one; nil if all were.
    func recordRevocation(of session: String, _ id: String?, by who: String?) {
        log("tokens revoked", who, [("session", session), ("jti", id)])
    }

    private func log(_ message: String, _ who: String?, _ members: [(String, String?)]) {
        log(message, ([("who", who)] + members).compactMap { name, text in text.map { (name, LogValue.text($0)) } })
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

extension String {
    /// The text with U+FFFD for each invisible character, except controls below U+007F, which a JSON writer escapes.
    package var printable: String {
        if utf8.allSatisfy({ $0 < 0x7F }) { return self }
        return String(
            String.UnicodeScalarView(
                unicodeScalars.map { $0.isInvisible && $0.value >= 0x7F ? "\u{FFFD}" : $0 }))
    }
}

extension String {
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
