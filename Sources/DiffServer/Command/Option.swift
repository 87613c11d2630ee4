// How an option is read. A range ends where a value could no longer work, far below where a sum of it would overflow.

import HTTPCore
import SnapshotKit

/// One option.
struct Option: Sendable {
    let flag: String
    /// What stands for the value in help; nil for a switch.
    let value: String?
    let help: String
    /// What is wrong with a value that is of no use, behind the value: `is not a time`.
    var fault = "is not valid"
    /// Whether a value may hold what nobody else should read: no message repeats it then.
    var isSecret = false
    /// Sets it from its text; false if the text is of no use.
    let set: @Sendable (inout Options, String) -> Bool

    var variable: String {
        "DIFFSERVER_" + flag.dropFirst(2).map { $0 == "-" ? "_" : $0.uppercased() }.joined()
    }

    /// Sets it from a text that was given as `name`, its flag or its variable.
    func read(_ text: String, from name: String, into options: inout Options) throws(UsageError) {
        guard !set(&options, text) else { return }
        if text.isEmpty { throw UsageError("\(name) is empty") }
        throw UsageError(isSecret ? "the value of \(name) \(fault)" : "\(name): \"\(text)\" \(fault)")
    }

    /// The same, of which no message repeats the value.
    func keptSecret() -> Option {
        var option = self
        option.isSecret = true
        return option
    }
}

// MARK: - Ranges

extension Option {
    private static let counts = 1...1_000_000_000
    /// Up to 1 TiB: no machine that this runs on has more, and sums of some such amounts stay far from overflowing.
    private static let sizes = 1...1 << 40
    /// Up to what a session may live.
    static let times = Duration.nanoseconds(1)...Duration.seconds(Options.maxTimeToLive)
    static let timeFault = "is not a time above 0 and up to \(Unit.time(times.upperBound)), such as 500ms, 10s or 1h"

    private static func fault(_ range: ClosedRange<Int>) -> String {
        "is not a whole number from \(range.lowerBound) to \(range.upperBound)"
    }

    private static func sizeFault(_ range: ClosedRange<Int>) -> String {
        "is not an amount from \(Unit.bytes(range.lowerBound)) to \(Unit.bytes(range.upperBound)), such as 16MiB"
    }
}

// MARK: - Kinds

extension Option {
    static func text(
        _ flag: String, _ value: String, _ help: String, _ fault: String,
        _ set: @escaping @Sendable (inout Options, String) -> Bool
    ) -> Option {
        Option(flag: flag, value: value, help: help, fault: fault, set: set)
    }

    /// One that is any text but an empty one.
    static func text(
        _ flag: String, _ value: String, _ help: String, _ path: WritableKeyPath<Options, String?> & Sendable
    ) -> Option {
        Option(flag: flag, value: value, help: help) { options, text in
            options[keyPath: path] = text
            return !text.isEmpty
        }
    }

    static func toggle(
        _ flag: String, _ help: String, _ path: WritableKeyPath<Options, Bool> & Sendable
    ) -> Option {
        Option(flag: flag, value: nil, help: help, fault: "is neither true nor false") { options, text in
            options[keyPath: path] = text == "true"
            return text == "true" || text == "false"
        }
    }

    /// One that may be repeated; in the environment the values are separated by commas.
    static func list(
        _ flag: String, _ value: String, _ help: String, _ fault: String,
        _ add: @escaping @Sendable (inout Options, String) -> Bool
    ) -> Option {
        Option(flag: flag, value: value, help: help, fault: fault) { options, text in
            text.split(separator: ",", omittingEmptySubsequences: false).allSatisfy { add(&options, $0.trimmed) }
        }
    }

    static func count(
        _ flag: String, _ help: String, _ path: WritableKeyPath<Options, Int> & Sendable,
        _ range: ClosedRange<Int> = counts
    ) -> Option {
        let help = help + " (default \(Options()[keyPath: path]))"
        return Option(flag: flag, value: "COUNT", help: help, fault: fault(range)) { options, text in
            guard let count = Int(text), range.contains(count) else { return false }
            options[keyPath: path] = count
            return true
        }
    }

    /// One without a default; its help says what that means.
    static func count(
        _ flag: String, _ help: String, _ path: WritableKeyPath<Options, Int?> & Sendable,
        _ range: ClosedRange<Int> = counts
    ) -> Option {
        Option(flag: flag, value: "COUNT", help: help, fault: fault(range)) { options, text in
            options[keyPath: path] = Int(text)
            return range.contains(options[keyPath: path] ?? 0)
        }
    }

    static func bytes(
        _ flag: String, _ help: String, _ path: WritableKeyPath<Options, Int> & Sendable,
        _ range: ClosedRange<Int> = sizes
    ) -> Option {
        let standard = help.contains("default") ? "" : " (default \(Unit.bytes(Options()[keyPath: path])))"
        return Option(flag: flag, value: "BYTES", help: help + standard, fault: sizeFault(range)) { options, text in
            guard let bytes = Unit.bytes(text), range.contains(bytes) else { return false }
            options[keyPath: path] = bytes
            return true
        }
    }

    static func time(
        _ flag: String, _ help: String, _ path: WritableKeyPath<Options, Duration> & Sendable
    ) -> Option {
        let help = help + " (default \(Unit.time(Options()[keyPath: path])))"
        return Option(flag: flag, value: "TIME", help: help, fault: timeFault) { options, text in
            guard let time = Unit.time(text), times.contains(time) else { return false }
            options[keyPath: path] = time
            return true
        }
    }
}
