import Glibc

/// What was asked for on the command line.
enum Command {
    case serve(Options)
    case diff(old: String, new: String, flags: [String: String])
    case help, version
}

/// A command line that makes no sense: one line for a person, and exit status 2.
struct UsageError: Error {
    let message: String
}

extension Command {
    /// Reads arguments (without the program's name) and the environment; flags win over variables.
    init(_ arguments: [String], environment: (String) -> String?) throws(UsageError) {
        switch arguments.first ?? "serve" {
        case "serve": self = .serve(try Self.options(Array(arguments.dropFirst()), environment))
        case "diff": self = try Self.diff(Array(arguments.dropFirst()))
        case "help", "--help", "-h": self = .help
        case "version", "--version": self = .version
        case let other: throw UsageError(message: "there is no command \"\(other)\"; see diffserver help")
        }
    }

    private static func options(
        _ arguments: [String], _ environment: (String) -> String?
    ) throws(UsageError) -> Options {
        var options = Options()
        if let limit = ControlGroup.memoryLimit { options.tableBounds.bytes = min(options.tableBounds.bytes, limit / 2) }
        let flags = try flags(arguments, known: OptionTable.all)
        for option in OptionTable.all {
            let given = flags.filter { $0.flag == option.flag }
            if given.isEmpty, let text = environment(option.variable), !text.isEmpty {
                guard option.set(&options, text) else {
                    throw UsageError(message: "\(option.variable)=\(text): \(option.help)")
                }
            }
            for (flag, value) in given where !option.set(&options, value) {
                throw UsageError(message: "\(flag) \(value): \(option.help)")
            }
        }
        return options
    }

    /// `--flag value`, `--flag=value`, or a switch.
    private static func flags(_ arguments: [String], known: [Option]) throws(UsageError) -> [(flag: String, value: String)] {
        var flags: [(String, String)] = []
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard let option = known.first(where: { $0.flag == parts[0] }) else {
                throw UsageError(message: "there is no option \"\(parts[0])\"; see diffserver help")
            }
            if parts.count > 1 {
                flags.append((option.flag, parts[1]))
            } else if option.value == nil {
                flags.append((option.flag, "true"))
            } else if let value = rest.popFirst() {
                flags.append((option.flag, value))
            } else {
                throw UsageError(message: "\(option.flag) needs a value: \(option.help)")
            }
        }
        return flags
    }

    private static func diff(_ arguments: [String]) throws(UsageError) -> Command {
        let known = ["--dialect", "--staging", "--content", "--items-at", "--id-at", "--sections-at", "--section-id-at"].map {
            Option(flag: $0, value: "VALUE", help: "") { _, _ in true }
        }
        let files = arguments.prefix { $0 == "-" || !$0.hasPrefix("-") }
        guard files.count == 2 else { throw UsageError(message: "diffserver diff takes two files, OLD.json and NEW.json") }
        let flags = try flags(Array(arguments.dropFirst(2)), known: known)
        return .diff(old: files[0], new: files[1], flags: Dictionary(flags) { _, last in last })
    }
}

/// The limits that a container sets.
enum ControlGroup {
    /// Bytes of memory, if they are limited (cgroup v2, then v1).
    static var memoryLimit: Int? {
        for path in ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"] {
            guard let text = try? Files.read(path), let limit = Int(String(decoding: text, as: UTF8.self).dropLast()) else {
                continue
            }
            return limit < 1 << 50 ? limit : nil
        }
        return nil
    }
}
