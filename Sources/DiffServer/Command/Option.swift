// How an option is read. Ranges end where values could no longer work, far below where their sum would overflow.

import DiffService
import DiffSessions
import HTTPCore
import SnapshotKit

/// A command's options with their defaults, which a command line and the environment change.
package protocol CommandOptions: Sendable {
    init()
    static var topic: Help.Topic { get }
    static var groups: [OptionGroup<Self>] { get }
    /// Nil in a server without parts.
    var parts: (any Parts.Type)? { get }
    /// Whether a value of a flag, or with an empty one the flag, is there for what parts add.
    static func needsParts(_ flag: String, _ value: String) -> Bool
    /// The environment variable that stands in for a flag; nil if there is none.
    static func variable(for flag: String) -> String?
}

extension CommandOptions {
    package var parts: (any Parts.Type)? { nil }
    package static func needsParts(_ flag: String, _ value: String) -> Bool { false }
    package static func variable(for flag: String) -> String? { nil }
    package static var all: [Option<Self>] { groups.flatMap(\.options) }
}

/// Options on one subject.
package struct OptionGroup<Target: CommandOptions>: Sendable {
    let title: String
    package let options: [Option<Target>]
    /// Whether only the help of `serve` shows them.
    package let isRare: Bool

    package init(title: String = "Options", options: [Option<Target>], isRare: Bool = false) {
        (self.title, self.options, self.isRare) = (title, options, isRare)
    }
}

/// One option.
package struct Option<Target: CommandOptions>: Sendable {
    package let flag: String
    /// The value's placeholder in help; nil for a switch.
    let value: String?
    let help: String
    /// What is wrong with an invalid value, in words that follow it: `is not a time`.
    var fault = "is not valid"
    /// Whether the value may be a secret, which messages do not repeat.
    var isSecret = false
    /// Sets the option from a text; false if the text is invalid.
    let set: @Sendable (inout Target, String) -> Bool

    var variable: String? { Target.variable(for: flag) }

    /// - Parameter name: where the text comes from: the flag or the variable.
    func read(_ text: String, from name: String, into options: inout Target) throws(UsageError) {
        if options.parts == nil, Target.needsParts(flag, text) { throw .needsParts(name) }
        guard !set(&options, text) else { return }
        if text.isEmpty { throw UsageError("\(name) is empty") }
        throw UsageError(isSecret ? "the value of \(name) \(fault)" : "\(name): \"\(text)\" \(fault)")
    }

    package func keptSecret() -> Option {
        var option = self
        option.isSecret = true
        return option
    }

    /// The same option of what holds its target, perhaps under another name.
    package func within<Outer>(
        _ path: WritableKeyPath<Outer, Target> & Sendable, as name: String? = nil
    ) -> Option<Outer> {
        Option<Outer>(flag: name ?? flag, value: value, help: help, fault: fault, isSecret: isSecret) {
            set(&$0[keyPath: path], $1)
        }
    }
}

// MARK: - Ranges

/// The amounts accepted unless an option says otherwise.
package enum OptionRange {
    static let counts = 1...1_000_000_000
    /// Up to 1 TiB: sums of such amounts stay far from overflowing.
    static let sizes = 1...1 << 40
    /// Up to the longest life of a session.
    package static let times = Duration.nanoseconds(1)...Duration.seconds(Session.Settings.maxTimeToLive)

    fileprivate static func fault(_ range: ClosedRange<Int>) -> String {
        "is not a whole number from \(range.lowerBound) to \(range.upperBound)"
    }

    fileprivate static func sizeFault(_ range: ClosedRange<Int>) -> String {
        "is not an amount from \(Unit.bytes(range.lowerBound)) to \(Unit.bytes(range.upperBound)), such as 16MiB"
    }

    fileprivate static func timeFault(_ range: ClosedRange<Duration>) -> String {
        let isOpen = range.lowerBound > .zero && range.lowerBound < .milliseconds(1)
        let start = isOpen ? "above 0 and up" : "from \(Unit.time(range.lowerBound))"
        return "is not a time \(start) to \(Unit.time(range.upperBound)), such as 500ms, 10s or 1h"
    }
}

// MARK: - Kinds

extension Option {
    /// - Parameter read: nil for an invalid text.
    package static func value<Value>(
        _ flag: String, _ value: String?, _ help: String, _ fault: String,
        _ path: WritableKeyPath<Target, Value> & Sendable, _ read: @escaping @Sendable (String) -> Value?
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
        _ path: WritableKeyPath<Target, Value?> & Sendable, _ read: @escaping @Sendable (String) -> Value?
    ) -> Option { .value(flag, value, help, fault, path) { read($0).map(Optional.some) } }

    /// May be repeated. In the environment, commas separate the values.
    static func list<Value>(
        _ flag: String, _ value: String, _ help: String, _ fault: String,
        _ path: WritableKeyPath<Target, [Value]> & Sendable, _ read: @escaping @Sendable (String) -> Value?
    ) -> Option {
        Option(flag: flag, value: value, help: help, fault: fault) { options, text in
            let texts = text.split(separator: ",", omittingEmptySubsequences: false)
            let values = texts.compactMap { read($0.trimmed) }
            options[keyPath: path] += values
            return values.count == texts.count
        }
    }

    package static func text(
        _ flag: String, _ value: String, _ help: String, _ path: WritableKeyPath<Target, String?> & Sendable
    ) -> Option { .optional(flag, value, help, "is empty", path) { $0.isEmpty ? nil : $0 } }

    package static func toggle(
        _ flag: String, _ help: String, _ path: WritableKeyPath<Target, Bool> & Sendable
    ) -> Option { .value(flag, nil, help, "is neither true nor false", path) { ["true": true, "false": false][$0] } }

    /// The help with the default, unless that is said already.
    private static func shown(_ help: String, _ standard: String) -> String {
        help.contains("default") ? help : "\(help) (default \(standard))"
    }

    static func count(
        _ flag: String, _ help: String, _ path: WritableKeyPath<Target, Int> & Sendable,
        _ range: ClosedRange<Int> = OptionRange.counts
    ) -> Option {
        let help = shown(help, "\(Target()[keyPath: path])")
        return .value(flag, "COUNT", help, OptionRange.fault(range), path) { range.checked(Int($0)) }
    }

    static func count(
        _ flag: String, _ help: String, _ path: WritableKeyPath<Target, Int?> & Sendable,
        _ range: ClosedRange<Int> = OptionRange.counts
    ) -> Option { .optional(flag, "COUNT", help, OptionRange.fault(range), path) { range.checked(Int($0)) } }

    static func bytes(
        _ flag: String, _ help: String, _ path: WritableKeyPath<Target, Int> & Sendable,
        _ range: ClosedRange<Int> = OptionRange.sizes
    ) -> Option {
        let help = shown(help, Unit.bytes(Target()[keyPath: path]))
        return .value(flag, "BYTES", help, OptionRange.sizeFault(range), path) { range.checked(Unit.bytes($0)) }
    }

    package static func time(
        _ flag: String, _ help: String, _ path: WritableKeyPath<Target, Duration> & Sendable,
        _ range: ClosedRange<Duration> = OptionRange.times
    ) -> Option {
        let help = shown(help, Unit.time(Target()[keyPath: path]))
        return .value(flag, "TIME", help, OptionRange.timeFault(range), path) { range.checked(Unit.time($0)) }
    }

    static func time(
        _ flag: String, _ help: String, _ path: WritableKeyPath<Target, Duration?> & Sendable,
        _ range: ClosedRange<Duration> = OptionRange.times
    ) -> Option { .optional(flag, "TIME", help, OptionRange.timeFault(range), path) { range.checked(Unit.time($0)) } }

    package static func headers(_ path: WritableKeyPath<Target, [String]> & Sendable) -> Option {
        Option(
            flag: "--header", value: "'NAME: VALUE'",
            help: "a header to send to the URL; may be repeated. A secret is named by its variable: "
                + "'Authorization: env:TOKEN'", fault: "is not NAME: VALUE", isSecret: true
        ) {
            $0[keyPath: path].append($1)
            return $1.contains(":")
        }
    }

    /// One of a few words, which are the placeholder if there is no other.
    static func choice<Value: RawRepresentable & CaseIterable & Sendable>(
        _ flag: String, _ help: String, _ path: WritableKeyPath<Target, Value> & Sendable, _ value: String? = nil
    ) -> Option where Value.RawValue == String {
        let words = Value.allCases.map(\.rawValue)
        let fault = "is not \(words.dropLast().joined(separator: ", ")) or \(words.last ?? "")"
        return .value(flag, value ?? words.joined(separator: "|"), help, fault, path) { Value(rawValue: $0) }
    }

    static func tokenSecret(_ help: String, _ path: WritableKeyPath<Target, [[UInt8]]> & Sendable) -> Option {
        Option(
            flag: "--token-secret", value: "TEXT", help: help,
            fault: "is shorter than \(TokenSecrets.minBytes) bytes, or there are more than \(TokenSecrets.maxCount)",
            isSecret: true
        ) {
            guard let secrets = TokenSecrets.read($1.utf8) else { return false }
            $0[keyPath: path] += secrets
            return $0[keyPath: path].count <= TokenSecrets.maxCount
        }
    }
}

extension ClosedRange {
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
        let milliseconds = Int(time.wholeNanoseconds / 1_000_000)
        for (unit, size) in times.reversed() where milliseconds >= size && milliseconds % size == 0 {
            return "\(milliseconds / size)\(unit)"
        }
        return "0s"
    }
}
