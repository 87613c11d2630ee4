import CDiffOpenSSL
import CDiffSystem
import DiffService
import DiffSessions
import HTTPCore
import SnapshotKit

/// Looks up a variable.
package typealias Environment = (String) -> String?

/// A command line that cannot be carried out, in words for a person; the exit status is 2.
package struct UsageError: Error {
    package let message: String
    /// Whether the message has a line for each fault of a file, with its position.
    let isLocated: Bool

    package init(_ message: String, isLocated: Bool = false) { (self.message, self.isLocated) = (message, isLocated) }

    static func needsParts(_ name: String) -> UsageError {
        UsageError("\(name) needs the full server, diffserver; this one \(Help.limits)")
    }
}

/// What other servers call an option.
private let elsewhere = [
    "--port": "--listen", "--host": "--listen", "--bind": "--listen", "--address": "--listen", "-p": "--listen",
    "--cors": "--origin", "--cert": "--tls-certificate",
]

// MARK: - Parsing

extension CommandOptions {
    /// Reads arguments, and the variables that stand in for flags. Flags win over variables, and these over a file.
    /// Returns the other arguments, such as `-`.
    package mutating func read(
        _ arguments: [String], _ environment: Environment = { _ in nil }, _ file: ConfigurationFile? = nil
    ) throws(UsageError) -> [String] {
        let (flags, others) = try Self.split(arguments)
        for option in Self.all {
            let given = flags.filter { $0.flag == option.flag }
            for (flag, value) in given { try option.read(value, from: flag, into: &self) }
            guard given.isEmpty else { continue }
            if let name = option.variable, let text = environment(name) {
                // A script that failed to fill in a key must not start a server without one.
                if text.isEmpty { throw UsageError("\(name) is empty; unset it to use the default") }
                try option.read(text, from: name, into: &self)
                continue
            }
            for value in file?.values(of: option.flag) ?? [] {
                do throws(UsageError) { try option.read(value.text, from: value.name, into: &self) } catch {
                    throw UsageError(error.message, isLocated: true)
                }
            }
        }
        return others
    }

    /// The same, with the file that `--config` names, for the options of `serve` among these.
    package mutating func read(
        _ arguments: [String], _ environment: Environment, server: WritableKeyPath<Self, Options>
    ) throws(UsageError) -> [String] {
        let defaults = self
        let others = try read(arguments, environment)
        guard let path = self[keyPath: server].configPath else { return others }
        let file = try ConfigurationFile(path)
        self = defaults
        _ = try read(arguments, environment, file)
        let flags = Set(try Self.split(arguments).flags.map { $0.flag })
        self[keyPath: server].configuration = file
        self[keyPath: server].given = Options.switchable.filter {
            flags.contains($0) || Options.variable(for: $0).flatMap(environment) != nil
        }
        return others
    }

    /// Splits options (`--flag value`, `--flag=value`, or a switch) from other arguments, such as `-`.
    private static func split(
        _ arguments: [String]
    ) throws(UsageError) -> (flags: [(flag: String, value: String)], others: [String]) {
        let known = all
        var flags: [(String, String)] = []
        var others: [String] = []
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            guard argument.hasPrefix("--") else {
                // It may be the rest of a secret with a blank, so it is not printed.
                if let last = flags.last?.0, known.contains(where: { $0.flag == last && $0.isSecret }), !argument.isURL
                {
                    throw UsageError("the argument after the value of \(last) is not an option; \(topic.pointer)")
                }
                others.append(argument)
                continue
            }
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard let option = known.first(where: { $0.flag == parts[0] }) else {
                // A secret may follow without a separator, so it is not printed.
                let name = String(parts[0].prefix { $0 == "-" || ("a"..."z").contains($0) })
                // `--itemsAt`, as the parameter is called.
                let written = parts[0].prefix { $0 == "-" || $0.isASCII && $0.isLetter }
                let words = written.reduce(into: "") { $0 += $1.isUppercase ? "-\($1.lowercased())" : "\($1)" }
                let flags = known.map(\.flag)
                let meant = flags.first { $0 == elsewhere[name] } ?? Spelling.nearest(to: words, among: flags)
                let advice = meant.map { "did you mean \($0)?" } ?? topic.pointer
                throw UsageError("unknown option \"\(name)\"; \(advice)")
            }
            guard let value = parts.dropFirst().first ?? (option.value == nil ? "true" : rest.popFirst()) else {
                throw UsageError("\(option.flag) needs a value: \(option.flag) \(option.value ?? "")")
            }
            flags.append((option.flag, value))
        }
        return (flags, others)
    }
}

// MARK: - Keys

/// `diffserver key`: makes a writer's key, without a server.
enum KeyCommand {
    static func name(_ arguments: [String]) throws(UsageError) -> String {
        if let option = arguments.first(where: { $0.hasPrefix("-") }) {
            throw UsageError("unknown option \"\(option)\"; \(Help.Topic.key.pointer)")
        }
        guard arguments.count <= 1 else { throw UsageError("key takes at most one name; \(Help.Topic.key.pointer)") }
        guard arguments.first?.contains(":") != true else { throw UsageError("a key's name cannot contain a colon") }
        return arguments.first ?? "writer"
    }

    static func run(name: String) {
        let secret = KeyRing.newSecret()
        let hash = Hex.encode(Digests.sha256(Array(secret.utf8)))
        print("key:     \(secret)")
        print("option:  --key \(name):\(hash)")
    }
}

/// `diffserver token`: mints a client's token with the server's secret.
struct TokenCommand: Subcommand {
    private var sessions: [String] = []
    private var scopes: Set<Token.Scope> = [.read]
    private var client: String?
    private var life = Duration.seconds(3600)
    private var secrets: [[UInt8]] = []
    private var secretFile: String?

    mutating func take(_ arguments: [String], environment: @escaping Environment) throws(UsageError) {
        // A secret on the command line replaces both variables.
        let isGiven = arguments.contains { $0.hasPrefix("--token-secret") }
        let others = try read(arguments) { isGiven ? nil : environment($0) }
        if let other = others.first { throw UsageError("\"\(other)\" is not an option; \(Self.topic.pointer)") }
        guard (1...Token.maxSessions).contains(sessions.count) else {
            throw UsageError(
                "token needs 1 to \(Token.maxSessions) sessions, each as --session NAME; \(Self.topic.pointer)")
        }
        if let secretFile {
            var warnings: [String] = []
            secrets = try Options.tokenSecrets(in: secretFile, given: secrets, warnings: &warnings)
        }
        if secrets.isEmpty {
            throw UsageError("no secret to sign with: give the server's --token-secret or --token-secret-file")
        }
    }

    static let topic = Help.Topic.token

    static func help(_ help: Help) -> String {
        """
        Usage: diffserver token --session NAME… [OPTION…]

        Mints a client's token from the server's secret. No server needs to run.

        \(help.options(groups))
        Example:

          diffserver token --session shop --scope read,edit --ttl 15m --token-secret-file /run/secrets/tokens

        """
    }

    static func variable(for flag: String) -> String? {
        flag.hasPrefix("--token-secret") ? Options.variable(for: flag) : nil
    }

    static let groups = [
        OptionGroup<Self>(options: [
            .list(
                "--session", "NAME", "a session it is good for; up to \(Token.maxSessions) times", "is empty",
                \.sessions
            ) { $0.isEmpty ? nil : $0 },
            .value(
                "--scope", "SCOPES", "comma-separated (default read): \(Token.Scope.words)",
                "is not a comma-separated list of \(Token.Scope.words)", \.scopes
            ) { text in
                let names = text.split { $0 == "," || $0 == " " }.map(String.init)
                let scopes = names.compactMap { Token.Scope($0) }
                return scopes.isEmpty || scopes.count < names.count ? nil : Set(scopes)
            },
            .optional(
                "--client-id", "NAME", "the client it is for, which gets Idempotency-Keys of its own",
                "is not a name of 1 to \(Token.clientBytes.upperBound) bytes", \.client
            ) { Token.clientBytes.contains($0.utf8.count) ? $0 : nil },
            .time("--ttl", "lifetime, from 1s to 7d", \.life, .seconds(1)...OptionRange.times.upperBound),
            .text("--token-secret-file", "FILE", "the file with the server's secret", \.secretFile),
            .tokenSecret(
                "the secret itself, which ps shows to every user; or set DIFFSERVER_TOKEN_SECRET or "
                    + "DIFFSERVER_TOKEN_SECRET_FILE", \.secrets),
        ])
    ]

    func run(environment: @escaping Environment) -> Never {
        let token = Token(
            sessions: sessions, scopes: scopes, expires: WallTime.after(life), made: WallTime.milliseconds,
            client: client)
        print(token.signed(by: secrets[0]))
        exit(0)
    }
}

// MARK: - Health

/// `diffserver healthcheck`: asks a server on this machine whether it is ready, for containers without a shell. The
/// exit status is 0 if it is.
enum HealthCheck {
    /// The arguments of a server in the command line of a container's first process, which may be an init before it;
    /// none if there is no server in it.
    static func arguments(in commandLine: String) -> [String] {
        let words = commandLine.split(separator: "\0", omittingEmptySubsequences: false).map(String.init).dropLast()
        guard let program = words.firstIndex(where: { $0 == "diffserver" || $0.hasSuffix("/diffserver") }) else {
            return []
        }
        let arguments = words[(program + 1)...]
        return Array(arguments.first == "serve" ? arguments.dropFirst() : arguments)
    }

    /// Its own options; without any those of the server that is the container's first process, by its command line.
    static func options(
        _ arguments: [String], _ environment: Environment, _ defaults: Options,
        first: String = Files.text("/proc/1/cmdline")
    ) throws(UsageError) -> Options {
        if arguments.isEmpty {
            // It may be another command.
            do throws(UsageError) { return try defaults.reading(Self.arguments(in: first), environment) } catch {}
        }
        return try defaults.reading(arguments, environment)
    }

    static func run(_ options: Options) -> Never {
        let address = options.server.listen.first ?? .tcp(host: "127.0.0.1", port: 8080)
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
