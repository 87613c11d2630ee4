import CDiffSystem
import HTTPCore
import Testing

@testable import DiffCommand
@testable import DiffRedis
@testable import DiffService
@testable import DiffUpstream
@testable import diffserver

@Suite struct CommandTests {
    private static let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    private static let secret = "0123456789abcdef0123456789abcdef"

    private func options(_ arguments: [String], _ variables: [String: String] = [:]) throws -> Options {
        try Options(AllParts.self).reading(arguments) { variables[$0] }.checked { variables[$0] }
    }

    /// The message that ends the start; nil if there is none.
    private func refusal(_ arguments: [String], _ variables: [String: String] = [:]) -> String? {
        do {
            _ = try options(arguments, variables)
            return nil
        } catch { return (error as? UsageError)?.message ?? "\(error)" }
    }

    @Test(
        "A health check asks the server that is the first process of its container",
        arguments: [
            ("/usr/local/bin/diffserver\0serve\0--listen\0:9000\0", [], ":9000"),
            ("/usr/local/bin/diffserver\0--listen=:9000\0", [], ":9000"),
            ("/sbin/docker-init\0--\0diffserver\0serve\0--listen\0unix:/run/s\0", [], "unix:/run/s"),
            ("diffserver\0serve\0--listen\0:9000\0", ["--listen", ":7000"], ":7000"),
            ("diffserver\0serve\0", [], ":8000"), ("diffserver\0watch\0http://localhost/a\0", [], ":8000"),
            ("/sbin/init\0--listen\0:9000\0", [], ":8000"), ("", [], ":8000"),
        ])
    func firstProcess(commandLine: String, own: [String], address: String) throws {
        let options = try HealthCheck.options(
            own, { $0 == "DIFFSERVER_LISTEN" ? ":8000" : nil }, Options(AllParts.self), first: commandLine)
        #expect(options.server.listen.map(\.description) == [address])
    }

    /// Amounts that overflow, that are malformed, or that are just not meant. Calculations with any accepted one must
    /// not overflow.
    private static let amounts = [
        "0", "1", "-1", "+1", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
        "4611686018427387904",
        "99999999999999999999999999", "1099511627776", "1099511627777", "8796093022207GiB", "1e9", "1.5", "NaN", "inf",
        "0x10", "", " ",
        "\t",
        "1 ", " 1", "9223372036854775807d", "106751991167301d", "1073741823d", "0ms", "1ms", "7d", "8d", "604800",
        "604801",
    ]

    @Test(arguments: Options.all.map(\.flag))
    func `an amount is taken or told to be of no use`(_ flag: String) {
        for amount in Self.amounts {
            for message in [refusal(["\(flag)=\(amount)"]), refusal([], [variable(flag): amount])].compactMap(\.self) {
                #expect(message.contains(flag) || message.contains(variable(flag)), "\(flag)=\(amount): \(message)")
            }
        }
    }

    @Test func `the server's loops wait as they are told to`() throws {
        #expect(try options([]).serverOptions.polling == .preferred)
        for polling in Polling.allCases {
            #expect(try options(["--event-loop", polling.rawValue]).serverOptions.polling == polling)
            #expect(try options([], ["DIFFSERVER_EVENT_LOOP": polling.rawValue]).serverOptions.polling == polling)
        }
    }

    /// Accepted amounts survive the calculations made with them: the budget of bodies, and the connections' patience.
    @Test func `the largest amounts do not overflow`() throws {
        let most = try options([
            "--max-body", "1GiB", "--memory", "1024GiB", "--body-rate", "1024GiB", "--body-window", "7d",
            "--max-sessions", "1000000000",
            "--rate", "1000000000", "--stream-life", "7d", "--peer-rate", "1000000000",
            "--peer-connections", "1000000000",
        ])
        #expect(2 * most.service.maxBodyBytes + most.tableBounds.bytes < .max)
        #expect(Double(most.server.connectionLimits.minBodyRate) * 7 * 86_400 < Double(Int.max))
        #expect(RateLimit<String>(perSecond: most.service.rate).refuses("a") == nil)
        for beyond in [
            ["--max-body", "1025MiB"], ["--memory", "1025GiB"], ["--stream-life", "8d"], ["--rate", "1000000001"],
            ["--peer-rate", "1000000001"], ["--peer-connections", "1000000001"],
            ["--peer-rate", "0"], ["--peer-connections", "0"],
        ] {
            #expect(refusal(beyond) != nil, "\(beyond)")
        }
    }

    private func variable(_ flag: String) -> String { Options.variable(for: flag)! }

    @Test(arguments: Options.all.map(\.flag))
    func `an empty value is no value`(_ flag: String) {
        #expect(refusal(["\(flag)="])?.contains(flag) == true)
        #expect(refusal([], [variable(flag): ""])?.contains(variable(flag)) == true)
    }

    @Test(arguments: [
        (["--open", "--key", "a:\(hash)"], "--open"), (["--tls-certificate", "c"], "--tls-key"),
        (["--tls-key", "k"], "--tls-certificate"),
        (["--tls-client-ca", "a"], "--tls-client-ca"), (["--store-ca", "a"], "--store-ca"),
        (["--store", "redis://h", "--store-ca", "a"], "--store-ca"),
        (["--store", "redis-cluster://h"], "--digest-key"), (["--store", "redis://h"], "openssl rand -hex 32"),
        (["--store", "sqlite::memory:"], "--store"), (["--store", "sqlite:"], "--store"),
        (["--origin", "https://a.example/b"], "--origin"),
        (["--key", "a:\(hash),"], "--key"), (["--key", "a:\(hash):"], "--key"),
        (["--key-file", "/nowhere/at/all"], "No such file"),
        (["--key-file", "/"], "--key-file"), (["--token-secret-file", "/dev/null"], "empty"),
        (["--token-secret-file", "/dev/zero"], "bytes"), (["--lists", "/nowhere/at/all"], "No such file"),
        (["--lists", "/"], "--lists"), (["--lists", "/dev/zero"], "bytes"),
        (["--lists", "/dev/null"], "/dev/null:1:1: "),
        (["--drain-delay", "61m"], "from 0s to 1h"), (["--drain-delay=-5s"], "from 0s to 1h"),
        (["--drain", "0"], "above 0"),
    ])
    func `what cannot work is refused`(_ arguments: [String], _ reason: String) {
        let message = refusal(arguments)
        #expect(message?.contains(reason) == true, "\(message ?? "it is taken")")
    }

    @Test(arguments: [
        ["--open"], ["--store", "rediss://h", "--digest-key", "a", "--store-ca", "a"],
        ["--store", "rediss-cluster://h,i", "--digest-key", "a", "--store-ca", "a"],
        ["--tls-certificate", "c", "--tls-key", "k", "--tls-client-ca", "a"],
        ["--origin", "https://a.example, http://localhost:3000"],
        ["--drain-delay", "0"], ["--drain-delay", "1h", "--drain", "100ms"],
    ])
    func `what can work is taken`(_ arguments: [String]) { #expect(refusal(arguments) == nil) }

    // MARK: Secrets

    /// Calls `body` with the path of a file that holds a text.
    private func withFile<R>(_ text: String, mode: mode_t = 0o600, _ body: (String) throws -> R) throws -> R {
        var path = Array("/tmp/diffserver-secret-XXXXXX".utf8CString)
        let descriptor = mkstemp(&path)
        try #require(descriptor >= 0)
        write(descriptor, text, text.utf8.count)
        fchmod(descriptor, mode)
        close(descriptor)
        defer { unlink(path) }
        return try body(String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self))
    }

    @Test func `a file of lists is read with the variables that it names`() throws {
        let lists = """
            {"a": {"source": {"url": "http://h/", "every": 0}},
             "b": {"hook": {"url": "http://h/", "secret": "env:HOOK"}}}
            """
        try withFile(lists) { path in
            let faults = [
                "\(path):1:48: every must be a number of seconds from 0.1 to 3600",
                "\(path):2:47: the variable HOOK is unset or empty",
            ]
            #expect(refusal(["--lists", path])?.split(separator: "\n").map(String.init) == faults)
        }
        let key = "whsec_" + String(repeating: "YWFh", count: 8)
        try withFile(lists.replacing(" 0}", with: " 9}")) { path in
            let options = try options([], ["DIFFSERVER_LISTS": path, "HOOK": key])
            #expect(options.listsPath == path)
            #expect((options.lists as? ListsFile)?.lists.map(\.name.text) == ["a", "b"])
            #expect(try self.options([]).lists == nil)
            for arguments in [[], [path, path]] {
                #expect(throws: UsageError.self) {
                    try Program.command(["check-lists"] + arguments, AllParts.self, [:])
                }
            }
        }
    }

    @Test(arguments: ["", "\n", "\r\n"])
    func `the line break behind a secret is none of it`(_ end: String) throws {
        try withFile(Self.secret + end) { path in
            let options = try options(["--token-secret-file", path])
            #expect(options.tokenSecrets == [Array(Self.secret.utf8)])
            #expect(options.warnings.isEmpty)
        }
        try withFile("\(Self.secret)2\r\n\n\(Self.secret)1" + end) { path in
            let secrets = try options(["--token-secret-file", path]).tokenSecrets
            #expect(secrets == ["2", "1"].map { Array((Self.secret + $0).utf8) })
        }
        try withFile("pass word" + end) { path in
            let options = try options([
                "--store", "redis://user@host", "--digest-key", "a", "--store-password-file", path,
            ])
            #expect(options.storePassword == "pass word")
            #expect(RedisAddress("unix:/s")?.takesPassword == true)
            #expect(RedisAddress("redis://:has-one@host")?.takesPassword == false)
            #expect(SQLiteAddress("sqlite:/s")?.takesPassword == false)
        }
        try withFile("a:\(Self.hash)\n\nb:\(Self.hash):team-" + end) { path in
            let options = try options(["--key-file", path, "--key", "c:\(Self.hash)"])
            #expect(options.allKeys.map(\.name) == ["c", "a", "b"])
            #expect(options.allKeys.map(\.prefix) == ["", "", "team-"])
        }
    }

    @Test func `secrets of tokens come one behind the other`() throws {
        let (one, two) = (Self.secret + "1", Self.secret + "2")
        let expected = [one, two].map { Array($0.utf8) }
        #expect(try options(["--token-secret", one, "--token-secret", two]).tokenSecrets == expected)
        #expect(try options(["--token-secret", "\(one)\n\(two)"]).tokenSecrets == expected)
        #expect(try options([], ["DIFFSERVER_TOKEN_SECRET": "\(one)\n\(two)"]).tokenSecrets == expected)
        #expect(refusal((0..<17).flatMap { ["--token-secret", Self.secret + "\($0)"] }) != nil)
        #expect(refusal(["--token-secret", one, "--token-secret", "short"]) != nil)
    }

    @Test func `a file of secrets that is of no use ends the start`() throws {
        for (flag, text) in [
            ("--token-secret-file", ""), ("--token-secret-file", "\n"), ("--token-secret-file", "short"),
            ("--token-secret-file", Self.secret + "\nshort"),
            ("--token-secret-file", String(repeating: Self.secret + "\n", count: 17)),
            ("--key-file", ""),
            ("--key-file", "\n\n"),
            ("--key-file", "a:\(Self.hash)\nnonsense"), ("--store-password-file", ""),
            ("--store-password-file", "of no Redis"),
        ] {
            let message = try withFile(text) { refusal([flag, $0]) }
            #expect(message?.contains(flag) == true, "\(flag) \(text): \(message ?? "it is taken")")
        }
        try withFile(Self.secret) { path in
            #expect(refusal(["--token-secret", Self.secret, "--token-secret-file", path]) != nil)
            #expect(refusal(["--store", "redis://u:p@h", "--store-password-file", path]) != nil)
            #expect(refusal(["--token-secret-file", path], ["DIFFSERVER_TOKEN_SECRET": Self.secret]) != nil)
        }
        try withFile("a:\(Self.hash)") { #expect(refusal(["--open", "--key-file", $0]) != nil) }
    }

    @Test(arguments: [(0o600, 0), (0o640, 0), (0o644, 1), (0o604, 1), (0o602, 1)] as [(mode_t, Int)])
    func `a file of secrets that every user may read is worth a warning`(_ mode: mode_t, _ warnings: Int) throws {
        try withFile(Self.secret, mode: mode) { path in
            let found = try options(["--token-secret-file", path]).warnings
            #expect(found.count == warnings)
        }
    }

    @Test func `no message repeats a secret`() throws {
        let secret = "hunter2hunter2"
        for flag in ["--key", "--token-secret", "--store"] {
            for message in [
                refusal([flag, secret]), refusal(["\(flag)=\(secret)"]), refusal([], [variable(flag): secret]),
            ] {
                let message = try #require(message)
                #expect(message.contains(flag) || message.contains(variable(flag)))
                #expect(!message.contains(secret))
            }
        }
        // The second word of an unquoted secret.
        for flag in ["--token-secret", "--digest-key", "--key"] {
            let value = flag == "--key" ? "a:\(Self.hash)" : Self.secret
            #expect(refusal([flag, value, secret])?.contains(secret) == false)
        }
        for text in [secret, "a:\(Self.hash)\n\(secret)"] {
            for flag in ["--key-file", "--token-secret-file", "--store-password-file"] {
                let message = try withFile(text) { refusal([flag, $0]) }
                #expect(message?.contains(secret) != true)
            }
        }
        #expect(refusal(["--store", "redis://user:\(secret)@host:99999"])?.contains(secret) == false)
    }
}
