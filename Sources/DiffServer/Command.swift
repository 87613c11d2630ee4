import Glibc

/// What was asked for on the command line.
enum Command {
    case serve(Options)
    case diff(old: String, new: String, flags: [String: String])
    case key(name: String)
    case token(session: String, scopes: Set<Token.Scope>, seconds: Int, secret: String)
    case healthCheck(Options)
    case help, version
}

/// A command line that makes no sense: one line for a person, and exit status 2.
struct UsageError: Error {
    let message: String
}

extension Command {
    /// Reads arguments (without the program's name) and the environment; flags win over variables.
    ///
    /// - Parameter group: limits the memory that is taken where no option says how much.
    init(_ arguments: [String], environment: (String) -> String?, group: ControlGroup = ControlGroup()) throws(UsageError) {
        switch arguments.first ?? "serve" {
        case let flag where flag.hasPrefix("--") && flag != "--help" && flag != "--version":
            self = .serve(try Self.options(arguments, environment, group))
        case "serve": self = .serve(try Self.options(Array(arguments.dropFirst()), environment, group))
        case "key": self = try Self.key(Array(arguments.dropFirst()))
        case "token": self = try Self.token(Array(arguments.dropFirst()), environment)
        case "healthcheck": self = .healthCheck(try Self.options(Array(arguments.dropFirst()), environment, group))
        case "diff": self = try Self.diff(Array(arguments.dropFirst()))
        case "help", "--help", "-h": self = .help
        case "version", "--version": self = .version
        case let other: throw UsageError(message: "there is no command \"\(other)\"; see diffserver help")
        }
    }

    private static func options(
        _ arguments: [String], _ environment: (String) -> String?, _ group: ControlGroup
    ) throws(UsageError) -> Options {
        var options = Options()
        if let limit = group.memoryLimit { options.tableBounds.bytes = min(options.tableBounds.bytes, limit / 2) }
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

    private static func flags(_ arguments: [String], known: [Option]) throws(UsageError) -> [(flag: String, value: String)] {
        let (flags, others) = try split(arguments, known: known)
        if let other = others.first { throw UsageError(message: "\"\(other)\" is no option; see diffserver help") }
        return flags
    }

    /// Options (`--flag value`, `--flag=value`, or a switch) and the other arguments, of which `-` is one.
    private static func split(
        _ arguments: [String], known: [Option]
    ) throws(UsageError) -> (flags: [(flag: String, value: String)], others: [String]) {
        var flags: [(String, String)] = []
        var others: [String] = []
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            guard argument.hasPrefix("--") else {
                others.append(argument)
                continue
            }
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
        return (flags, others)
    }

    private static func key(_ arguments: [String]) throws(UsageError) -> Command {
        guard arguments.count <= 1, arguments.first?.contains(":") != true else {
            throw UsageError(message: "diffserver key takes one name, without a colon")
        }
        return .key(name: arguments.first ?? "writer")
    }

    private static func token(_ arguments: [String], _ environment: (String) -> String?) throws(UsageError) -> Command {
        let known = ["--session", "--scope", "--ttl", "--token-secret"].map {
            Option(flag: $0, value: "VALUE", help: "") { _, _ in true }
        }
        let flags = Dictionary(try flags(arguments, known: known)) { _, last in last }
        guard let session = flags["--session"] else { throw UsageError(message: "diffserver token needs --session NAME") }
        guard let secret = flags["--token-secret"] ?? environment("DIFFSERVER_TOKEN_SECRET"), secret.utf8.count >= 32 else {
            throw UsageError(message: "diffserver token needs the server's --token-secret, of at least 32 bytes")
        }
        let names = (flags["--scope"] ?? "read").split { $0 == "," || $0 == " " }.map(String.init)
        let scopes = names.compactMap(Token.Scope.init)
        let time = Unit.time(flags["--ttl"] ?? "1h") ?? .zero
        guard !scopes.isEmpty, scopes.count == names.count else { throw UsageError(message: "--scope is read, edit or read,edit") }
        guard time >= .seconds(1), time <= .seconds(Options.maxTimeToLive) else {
            throw UsageError(message: "--ttl is a time from 1s to 7d")
        }
        return .token(session: session, scopes: Set(scopes), seconds: Int(time.components.seconds), secret: secret)
    }

    private static func diff(_ arguments: [String]) throws(UsageError) -> Command {
        let known = ["--dialect", "--staging", "--content", "--items-at", "--id-at", "--sections-at", "--section-id-at"].map {
            Option(flag: $0, value: "VALUE", help: "") { _, _ in true }
        }
        let (flags, files) = try split(arguments, known: known)
        guard files.count == 2 else { throw UsageError(message: "diffserver diff takes two files, OLD.json and NEW.json") }
        return .diff(old: files[0], new: files[1], flags: Dictionary(flags) { _, last in last })
    }
}
