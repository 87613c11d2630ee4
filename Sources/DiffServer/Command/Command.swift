import Glibc

/// What was asked for on the command line.
enum Command {
    case serve(Options)
    case diff(DiffCommand)
    case key(name: String)
    case token(sessions: [String], scopes: Set<Token.Scope>, seconds: Int, secret: [UInt8])
    case healthCheck(Options)
    case checkLists(CheckLists)
    case help, version
}

/// A command line that makes no sense: a line for a person, or one for each fault of a file, and exit status 2.
struct UsageError: Error {
    let message: String
    /// Whether each line begins with its place in a file.
    var hasPlaces = false

    init(_ message: String) { self.message = message }
}

extension Command {
    /// Reads arguments (without the program's name) and the environment; flags win over variables.
    ///
    /// - Parameter group: limits the memory that is taken where no option says how much.
    init(
        _ arguments: [String], environment: @escaping (String) -> String?, group: ControlGroup = ControlGroup()
    ) throws(UsageError) {
        let rest = Array(arguments.dropFirst())
        switch arguments.first ?? "serve" {
        case let flag where flag.hasPrefix("--") && flag != "--help" && flag != "--version":
            self = .serve(try Self.options(arguments, environment, group).checked(environment: environment))
        case "serve": self = .serve(try Self.options(rest, environment, group).checked(environment: environment))
        case "key": self = try Self.key(rest)
        case "token": self = try Self.token(rest, environment)
        case "healthcheck": self = .healthCheck(try Self.options(rest, environment, group))
        case "diff": self = try Self.diff(rest)
        case "check-lists": self = try Self.checkLists(rest)
        case "help", "--help", "-h": self = .help
        case "version", "--version": self = .version
        case let other: throw UsageError("there is no command \"\(other)\"; see diffserver help")
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
            if given.isEmpty, let text = try Self.variable(option.variable, environment) {
                try option.read(text, from: option.variable, into: &options)
            }
            for (flag, value) in given { try option.read(value, from: flag, into: &options) }
        }
        return options
    }

    /// What a variable says. One that is empty is an error: a script that meant to put a key there must not start a
    /// server without one.
    private static func variable(_ name: String, _ environment: (String) -> String?) throws(UsageError) -> String? {
        guard let text = environment(name) else { return nil }
        guard !text.isEmpty else { throw UsageError("\(name) is empty; unset it where its default is wanted") }
        return text
    }

    private static func flags(_ arguments: [String], known: [Option]) throws(UsageError) -> [(
        flag: String, value: String
    )] {
        let (flags, others) = try split(arguments, known: known)
        if let other = others.first { throw UsageError("\"\(other)\" is no option; see diffserver help") }
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
                // Perhaps the rest of a secret that holds a blank: it is not repeated.
                if let last = flags.last?.0, known.contains(where: { $0.flag == last && $0.isSecret }) {
                    throw UsageError("what follows the value of \(last) is no option; see diffserver help")
                }
                others.append(argument)
                continue
            }
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard let option = known.first(where: { $0.flag == parts[0] }) else {
                throw UsageError("there is no option \"\(parts[0])\"; see diffserver help")
            }
            if parts.count > 1 {
                flags.append((option.flag, parts[1]))
            } else if option.value == nil {
                flags.append((option.flag, "true"))
            } else if let value = rest.popFirst() {
                flags.append((option.flag, value))
            } else {
                throw UsageError("\(option.flag) needs a value: \(option.help)")
            }
        }
        return (flags, others)
    }

    private static func key(_ arguments: [String]) throws(UsageError) -> Command {
        guard arguments.count <= 1, arguments.first?.contains(":") != true else {
            throw UsageError("diffserver key takes one name, without a colon")
        }
        return .key(name: arguments.first ?? "writer")
    }

    private static func token(_ arguments: [String], _ environment: (String) -> String?) throws(UsageError) -> Command {
        let known = ["--session", "--scope", "--ttl", "--token-secret", "--token-secret-file"].map {
            Option(flag: $0, value: "VALUE", help: "", isSecret: $0 == "--token-secret") { _, _ in true }
        }
        let given = try flags(arguments, known: known)
        let flags = Dictionary(given) { _, last in last }
        let sessions = given.filter { $0.flag == "--session" }.map(\.value)
        guard (1...Token.maxSessions).contains(sessions.count) else {
            throw UsageError("diffserver token needs --session NAME, at most \(Token.maxSessions) times")
        }
        let secret = try secret(flags, environment)
        let names = (flags["--scope"] ?? "read").split { $0 == "," || $0 == " " }.map(String.init)
        let scopes = names.compactMap { Token.Scope($0) }
        let time = Unit.time(flags["--ttl"] ?? "1h") ?? .zero
        guard !scopes.isEmpty, scopes.count == names.count else {
            throw UsageError("--scope holds, separated by commas, \(Token.Scope.words)")
        }
        guard time >= .seconds(1), time <= .seconds(Options.maxTimeToLive) else {
            throw UsageError("--ttl is a time from 1s to 7d")
        }
        return .token(sessions: sessions, scopes: Set(scopes), seconds: Int(time.components.seconds), secret: secret)
    }

    /// The server's secret that signs tokens: from the command line, else from a variable.
    private static func secret(
        _ flags: [String: String], _ environment: (String) -> String?
    ) throws(UsageError) -> [UInt8] {
        var (text, path) = (flags["--token-secret"], flags["--token-secret-file"])
        if text == nil, path == nil {
            text = try variable("DIFFSERVER_TOKEN_SECRET", environment)
            path = try variable("DIFFSERVER_TOKEN_SECRET_FILE", environment)
        }
        switch (text, path) {
        case (let text?, nil):
            if let secrets = TokenSecrets.read(text.utf8) { return secrets[0] }
        case (nil, let path?):
            var warnings: [String] = []
            return try Options.tokenSecrets(in: path, warnings: &warnings)[0]
        default: break
        }
        throw UsageError(
            "diffserver token needs the server's --token-secret or --token-secret-file, "
                + "of \(TokenSecrets.minBytes) bytes or more")
    }

    private static func checkLists(_ arguments: [String]) throws(UsageError) -> Command {
        let (flags, others) = try split(arguments, known: CheckLists.options)
        guard let file = others.first, flags.count == 1 || others.count == 1 else {
            throw UsageError("diffserver check-lists takes one file of lists, and behind --try sessions as well")
        }
        return .checkLists(CheckLists(path: file, tries: !flags.isEmpty, sessions: Array(others.dropFirst())))
    }

    private static func diff(_ arguments: [String]) throws(UsageError) -> Command {
        let (flags, files) = try split(arguments, known: DiffCommand.options)
        guard files.count == 2 else {
            throw UsageError("diffserver diff takes two files, OLD.json and NEW.json")
        }
        return .diff(try DiffCommand(old: files[0], new: files[1], flags: flags))
    }
}
