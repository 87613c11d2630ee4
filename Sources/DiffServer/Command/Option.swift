// How an option is read. Ranges end where values could no longer work, far below where a sum of them would overflow.

import DiffSessions
import HTTPCore
import SnapshotKit

/// One option.
struct Option: Sendable {
    let flag: String
    /// The value's placeholder in help; nil for a switch.
    let value: String?
    let help: String
    /// What is wrong with an invalid value, as it follows the value: `is not a time`.
    var fault = "is not valid"
    /// Whether the value may be a secret, which messages do not repeat.
    var isSecret = false
    /// Sets the option from a text; false if the text is invalid.
    let set: @Sendable (inout Options, String) -> Bool

    var variable: String {
        "DIFFSERVER_" + flag.dropFirst(2).map { $0 == "-" ? "_" : $0.uppercased() }.joined()
    }

    /// - Parameter name: where the text comes from: the flag or the variable.
    func read(_ text: String, from name: String, into options: inout Options) throws(UsageError) {
        guard !set(&options, text) else { return }
        if text.isEmpty { throw UsageError("\(name) is empty") }
        throw UsageError(isSecret ? "the value of \(name) \(fault)" : "\(name): \"\(text)\" \(fault)")
    }

    func keptSecret() -> Option {
        var option = self
        option.isSecret = true
        return option
    }
}

// MARK: - Ranges

extension Option {
    private static let counts = 1...1_000_000_000
    /// Up to 1 TiB: sums of such amounts stay far from overflowing.
    private static let sizes = 1...1 << 40
    /// Up to the longest life of a session.
    private static let times = Duration.nanoseconds(1)...Duration.seconds(Session.Settings.maxTimeToLive)
    private static let timeFault =
        "is not a time above 0 and up to \(Unit.time(times.upperBound)), such as 500ms, 10s or 1h"

    private static func fault(_ range: ClosedRange<Int>) -> String {
        "is not a whole number from \(range.lowerBound) to \(range.upperBound)"
    }

    private static func sizeFault(_ range: ClosedRange<Int>) -> String {
        "is not an amount from \(Unit.bytes(range.lowerBound)) to \(Unit.bytes(range.upperBound)), such as 16MiB"
    }
}

// MARK: - Kinds

extension Option {
    /// - Parameter read: nil for an invalid text.
    static func value<Value>(
        _ flag: String, _ value: String?, _ help: String, _ fault: String,
        _ path: WritableKeyPath<Options, Value> & Sendable, _ read: @escaping @Sendable (String) -> Value?
    ) -> Option {
        Option(flag: flag, value: value, help: help, fault: fault) { options, text in
            guard let value = read(text) else { return false }
            options[keyPath: path] = value
            return true
        }
    }

    /// Without a default; the help says what that means.
    static func optional<Value>(
        _ flag: String, _ value: String, _ help: String, _ fault: String,
        _ path: WritableKeyPath<Options, Value?> & Sendable, _ read: @escaping @Sendable (String) -> Value?
    ) -> Option {
        .value(flag, value, help, fault, path) { read($0).map(Optional.some) }
    }

    /// May be repeated. In the environment, commas separate the values.
    static func list<Value>(
        _ flag: String, _ value: String, _ help: String, _ fault: String,
        _ path: WritableKeyPath<Options, [Value]> & Sendable, _ read: @escaping @Sendable (String) -> Value?
    ) -> Option {
        Option(flag: flag, value: value, help: help, fault: fault) { options, text in
            let texts = text.split(separator: ",", omittingEmptySubsequences: false)
            let values = texts.compactMap { read($0.trimmed) }
            options[keyPath: path] += values
            return values.count == texts.count
        }
    }

    /// Any text that is not empty.
    static func text(
        _ flag: String, _ value: String, _ help: String, _ path: WritableKeyPath<Options, String?> & Sendable
    ) -> Option {
        .optional(flag, value, help, "is empty", path) { $0.isEmpty ? nil : $0 }
    }

    static func toggle(
        _ flag: String, _ help: String, _ path: WritableKeyPath<Options, Bool> & Sendable
    ) -> Option {
        .value(flag, nil, help, "is neither true nor false", path) { ["true": true, "false": false][$0] }
    }

    static func count(
        _ flag: String, _ help: String, _ path: WritableKeyPath<Options, Int> & Sendable,
        _ range: ClosedRange<Int> = counts
    ) -> Option {
        let help = help + " (default \(Options()[keyPath: path]))"
        return .value(flag, "COUNT", help, fault(range), path) { range.checked(Int($0)) }
    }

    static func count(
        _ flag: String, _ help: String, _ path: WritableKeyPath<Options, Int?> & Sendable,
        _ range: ClosedRange<Int> = counts
    ) -> Option {
        .optional(flag, "COUNT", help, fault(range), path) { range.checked(Int($0)) }
    }

    static func bytes(
        _ flag: String, _ help: String, _ path: WritableKeyPath<Options, Int> & Sendable,
        _ range: ClosedRange<Int> = sizes
    ) -> Option {
        let standard = help.contains("default") ? "" : " (default \(Unit.bytes(Options()[keyPath: path])))"
        return .value(flag, "BYTES", help + standard, sizeFault(range), path) { range.checked(Unit.bytes($0)) }
    }

    static func time(
        _ flag: String, _ help: String, _ path: WritableKeyPath<Options, Duration> & Sendable
    ) -> Option {
        let help = help + " (default \(Unit.time(Options()[keyPath: path])))"
        return .value(flag, "TIME", help, timeFault, path) { times.checked(Unit.time($0)) }
    }

    static func time(
        _ flag: String, _ help: String, _ path: WritableKeyPath<Options, Duration?> & Sendable
    ) -> Option {
        .optional(flag, "TIME", help, timeFault, path) { times.checked(Unit.time($0)) }
    }

    /// An option of another command than `serve`, which reads it by itself.
    static func foreign(_ flag: String, _ value: String? = "VALUE", isSecret: Bool = false) -> Option {
        Option(flag: flag, value: value, help: "", isSecret: isSecret) { _, _ in true }
    }
}

extension ClosedRange {
    /// A value, if it is within the range.
    fileprivate func checked(_ value: Bound?) -> Bound? { value.flatMap { contains($0) ? $0 : nil } }
}

// MARK: - Units

/// Amounts in the notation of options.
enum Unit {
    private static let sizes = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]
    private static let times = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)]

    /// `16MiB`, `16 MiB`, or bytes.
    static func bytes(_ text: String) -> Int? {
        for (unit, size) in sizes where text.hasSuffix(unit) {
            let (bytes, overflows) = (Int(text.dropLast(3).trimmed) ?? -1).multipliedReportingOverflow(by: size)
            return overflows || bytes < 0 ? nil : bytes
        }
        return Int(text)
    }

    static func bytes(_ count: Int) -> String {
        for (unit, size) in sizes where count >= size && count % size == 0 { return "\(count / size) \(unit)" }
        return "\(count)"
    }

    /// `500ms`, `10s`, `5m`, `1h`, `7d`, or seconds.
    static func time(_ text: String) -> Duration? {
        if let seconds = Int(text) { return seconds < 1 << 40 ? .seconds(seconds) : nil }
        for (unit, size) in times where text.hasSuffix(unit) {
            if let count = Int(text.dropLast(unit.count)), count >= 0, count < 1 << 30 {
                return .milliseconds(count * size)
            }
        }
        return nil
    }

    static func time(_ time: Duration) -> String {
        let milliseconds =
            Int(time.components.seconds) * 1000 + Int(time.components.attoseconds / 1_000_000_000_000_000)
        for (unit, size) in times.reversed() where milliseconds >= size && milliseconds % size == 0 {
            return "\(milliseconds / size)\(unit)"
        }
        return "0s"
    }
}
