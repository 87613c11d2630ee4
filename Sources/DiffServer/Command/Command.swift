import CDiffOpenSSL
import CDiffSystem
import DiffService
import DiffSessions
import HTTPCore

/// What the command line asks for.
enum Command {
    case serve(Options)
    case diff(DiffCommand)
    case key(name: String)
    case token(sessions: [String], scopes: Set<Token.Scope>, client: String?, seconds: Int, secret: [UInt8])
    case healthCheck(Options)
    case checkLists(CheckLists)
    case help(Help.Topic)
    case version
}

/// A command line that cannot be carried out, for a person; the exit status is 2.
struct UsageError: Error {
    let message: String
    /// Whether the message has a line for each fault of a file, with its place.
    let hasPlaces: Bool

    init(_ message: String, hasPlaces: Bool = false) { (self.message, self.hasPlaces) = (message, hasPlaces) }
}

extension Command {
    /// Reads arguments (without the program's name) and the environment. Flags win over variables.
    ///
    /// - Parameter group: limits the default of `--memory`.
    init(
        _ arguments: [String], environment: @escaping (String) -> String?, group: ControlGroup = ControlGroup()
    ) throws(UsageError) {
        if let topic = try Self.topic(arguments) {
            self = .help(topic)
            return
        }
        let rest = Array(arguments.dropFirst())
        switch arguments.first ?? "serve" {
        case let flag where flag.hasPrefix("--") && flag != "--version":
            self = .serve(try Self.options(arguments, environment, group).checked(environment: environment))
        case "serve": self = .serve(try Self.options(rest, environment, group).checked(environment: environment))
        case "key": self = try Self.key(rest)
        case "token": self = try Self.token(rest, environment)
        case "healthcheck": self = .healthCheck(try Self.options(rest, environment, group))
        case "diff": self = try Self.diff(rest)
        case "check-lists": self = try Self.checkLists(rest)
        case "version", "--version": self = .version
        case let other: throw UsageError("unknown command \"\(other)\"; see diffserver help")
        }
    }

    /// The help that is asked for, by `help` or by a flag anywhere.
    private static func topic(_ arguments: [String]) throws(UsageError) -> Help.Topic? {
        if arguments.first == "help" {
            guard let name = arguments.dropFirst().first else { return .overview }
            if let topic = Help.Topic(rawValue: name) { return topic }
            throw UsageError("unknown command \"\(name)\"; see diffserver help")
        }
        guard let place = arguments.firstIndex(where: { $0 == "--help" || $0 == "-h" }) else { return nil }
        if place == 0 { return .overview }
        return Help.Topic(rawValue: arguments[0]) ?? (arguments[0].hasPrefix("--") ? .serve : .overview)
    }

    private static func options(
        _ arguments: [String], _ environment: (String) -> String?, _ group: ControlGroup
    ) throws(UsageError) -> Options {
        var options = Options()
        if let limit = group.memoryLimit { options.tableBounds.bytes = min(options.tableBounds.bytes, limit / 2) }
        let flags = try flags(arguments, known: OptionTable.all, of: .serve)
        for option in OptionTable.all {
            let given = flags.filter { $0.flag == option.flag }
            if given.isEmpty, let text = try Self.variable(option.variable, environment) {
                try option.read(text, from: option.variable, into: &options)
            }
            for (flag, value) in given { try option.read(value, from: flag, into: &options) }
        }
        return options
    }

    /// The value of a variable. An empty one is an error: a script that failed to fill in a key must not start a server
    /// without one.
    private static func variable(_ name: String, _ environment: (String) -> String?) throws(UsageError) -> String? {
        guard let text = environment(name) else { return nil }
        guard !text.isEmpty else { throw UsageError("\(name) is empty; unset it to use the default") }
        return text
    }

    private static func flags(
        _ arguments: [String], known: [Option], of command: Help.Topic
    ) throws(UsageError) -> [(flag: String, value: String)] {
        let (flags, others) = try split(arguments, known: known, of: command)
        if let other = others.first { throw UsageError("\"\(other)\" is not an option; \(command.pointer)") }
        return flags
    }

    /// Splits options (`--flag value`, `--flag=value`, or a switch) from other arguments, such as `-`.
    private static func split(
        _ arguments: [String], known: [Option], of command: Help.Topic
    ) throws(UsageError) -> (flags: [(flag: String, value: String)], others: [String]) {
        var flags: [(String, String)] = []
        var others: [String] = []
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            guard argument.hasPrefix("--") else {
                // Perhaps the rest of a secret with a blank: it is not printed.
                if let last = flags.last?.0, known.contains(where: { $0.flag == last && $0.isSecret }) {
                    throw UsageError("the argument after the value of \(last) is not an option; \(command.pointer)")
                }
                others.append(argument)
                continue
            }
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard let option = known.first(where: { $0.flag == parts[0] }) else {
                // A secret may follow without a separator: it is not printed.
                let name = parts[0].prefix { $0 == "-" || ("a"..."z").contains($0) }
                throw UsageError("unknown option \"\(name)\"; \(command.pointer)")
            }
            if parts.count > 1 {
                flags.append((option.flag, parts[1]))
            } else if option.value == nil {
                flags.append((option.flag, "true"))
            } else if let value = rest.popFirst() {
                flags.append((option.flag, value))
            } else {
                throw UsageError("\(option.flag) needs a value: \(option.flag) \(option.value ?? "")")
            }
        }
        return (flags, others)
    }

    private static func key(_ arguments: [String]) throws(UsageError) -> Command {
        if let option = arguments.first(where: { $0.hasPrefix("-") }) {
            throw UsageError("unknown option \"\(option)\"; \(Help.Topic.key.pointer)")
        }
        guard arguments.count <= 1 else { throw UsageError("key takes at most one name; \(Help.Topic.key.pointer)") }
        guard arguments.first?.contains(":") != true else { throw UsageError("a key's name cannot contain a colon") }
        return .key(name: arguments.first ?? "writer")
    }

    private static func token(_ arguments: [String], _ environment: (String) -> String?) throws(UsageError) -> Command {
        let known =
            ["--session", "--scope", "--client-id", "--ttl", "--token-secret-file"].map { Option.foreign($0) }
            + [Option.foreign("--token-secret", isSecret: true)]
        let given = try flags(arguments, known: known, of: .token)
        let flags = Dictionary(given) { _, last in last }
        let sessions = given.filter { $0.flag == "--session" }.map(\.value)
        guard (1...Token.maxSessions).contains(sessions.count) else {
            throw UsageError(
                "token needs 1 to \(Token.maxSessions) sessions, each as --session NAME; \(Help.Topic.token.pointer)")
        }
        let secret = try secret(flags, environment)
        let names = (flags["--scope"] ?? "read").split { $0 == "," || $0 == " " }.map(String.init)
        let scopes = names.compactMap { Token.Scope($0) }
        let time = Unit.time(flags["--ttl"] ?? "1h") ?? .zero
        guard !scopes.isEmpty, scopes.count == names.count else {
            throw UsageError("--scope takes a comma-separated list of \(Token.Scope.words)")
        }
        guard time >= .seconds(1), time <= .seconds(Session.Settings.maxTimeToLive) else {
            throw UsageError("--ttl must be a time from 1s to 7d")
        }
        let client = flags["--client-id"]
        guard client.map({ Token.clientBytes.contains($0.utf8.count) }) ?? true else {
            throw UsageError("--client-id takes a name of 1 to \(Token.clientBytes.upperBound) bytes")
        }
        return .token(
            sessions: sessions, scopes: Set(scopes), client: client, seconds: Int(time.components.seconds),
            secret: secret)
    }

    /// The server's secret that signs tokens, from the command line or else from a variable.
    private static func secret(
        _ flags: [String: String], _ environment: (String) -> String?
    ) throws(UsageError) -> [UInt8] {
        var (text, path) = (flags["--token-secret"], flags["--token-secret-file"])
        var name = "--token-secret"
        if text == nil, path == nil {
            name = "DIFFSERVER_TOKEN_SECRET"
            text = try variable(name, environment)
            path = try variable("DIFFSERVER_TOKEN_SECRET_FILE", environment)
        }
        switch (text, path) {
        case (let text?, nil):
            if let secrets = TokenSecrets.read(text.utf8) { return secrets[0] }
            throw UsageError("the value of \(name) is shorter than \(TokenSecrets.minBytes) bytes")
        case (nil, let path?):
            var warnings: [String] = []
            return try Options.tokenSecrets(in: path, warnings: &warnings)[0]
        case (nil, nil):
            throw UsageError("no secret to sign with: give the server's --token-secret or --token-secret-file")
        default:
            throw UsageError("give --token-secret or --token-secret-file, not both")
        }
    }

    private static func checkLists(_ arguments: [String]) throws(UsageError) -> Command {
        let (flags, others) = try split(arguments, known: CheckLists.options, of: .checkLists)
        guard let file = others.first, flags.count == 1 || others.count == 1 else {
            throw UsageError(
                "check-lists takes one lists file, and with --try also sessions; \(Help.Topic.checkLists.pointer)")
        }
        return .checkLists(CheckLists(path: file, tries: !flags.isEmpty, sessions: Array(others.dropFirst())))
    }

    private static func diff(_ arguments: [String]) throws(UsageError) -> Command {
        let (flags, files) = try split(arguments, known: DiffCommand.options, of: .diff)
        guard files.count == 2 else {
            throw UsageError("diff takes two files, OLD.json and NEW.json; \(Help.Topic.diff.pointer)")
        }
        return .diff(try DiffCommand(old: files[0], new: files[1], flags: flags))
    }
}

// MARK: - Keys

/// `diffserver key` and `diffserver token`: credentials without a server.
enum KeyCommands {
    /// Makes a key: the secret for the client, and the option for the server.
    static func key(name: String) {
        let secret = KeyRing.newSecret()
        let hash = Hex.encode(Digests.sha256(Array(secret.utf8)))
        print("key:     \(secret)\noption:  --key \(name):\(hash)")
    }

    /// Mints a token with the server's secret.
    static func token(sessions: [String], scopes: Set<Token.Scope>, client: String?, seconds: Int, secret: [UInt8]) {
        let token = Token(
            sessions: sessions, scopes: scopes, expires: WallTime.after(.seconds(seconds)),
            made: WallTime.milliseconds, client: client)
        print(token.signed(by: secret))
    }
}

// MARK: - Health

/// `diffserver healthcheck`: asks a server on this machine whether it is ready, for containers without a shell. The
/// exit status is 0 if it is.
enum HealthCheck {
    static func run(_ options: Options) -> Never {
        let address = options.listen.first ?? .tcp(host: "127.0.0.1", port: 8080)
        guard let descriptor = target(address)?.connected(seconds: 2) else { fail("cannot connect to \(address)") }
        var channel = BIO_new_socket(descriptor, 1)
        if options.certificate != nil {
            // The certificate is not verified: the question is whether the server is up, not who it is.
            channel = BIO_push(BIO_new_ssl(SSL_CTX_new(TLS_client_method()), 1), channel)
        }
        let request = Array("GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
        BIO_write(channel, request, Int32(request.count))
        var answer = [UInt8](repeating: 0, count: 256)
        let count = Int(BIO_read(channel, &answer, Int32(answer.count)))
        let words = String(decoding: answer.prefix(max(0, count)), as: UTF8.self).split(separator: " ")
        guard words.count > 1 else { fail("\(address) is not ready: no answer") }
        guard words[1] == "200" else { fail("\(address) is not ready: \(words[1])") }
        exit(0)
    }

    private static func target(_ address: ListenAddress) -> ConnectAddress? {
        switch address {
        case .unix(let path): .unix(path: path)
        // A server on every address answers on the loopback.
        case .tcp("", let port), .tcp("*", let port), .tcp("0.0.0.0", let port): .tcp(host: "127.0.0.1", port: port)
        case .tcp("::", let port): .tcp(host: "::1", port: port)
        case .tcp(let host, let port): .tcp(host: host, port: port)
        case .inherited: nil
        }
    }
}
