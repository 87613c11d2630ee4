import CDiffSystem
import HTTPCore
import Testing

@testable import DiffCommand
@testable import DiffService
@testable import diffserver

@Suite struct ConfigurationFileTests {
    private func withFile<R>(_ text: String, _ body: (String) throws -> R) throws -> R {
        var path = Array("/tmp/diffserver-config-XXXXXX".utf8CString)
        let descriptor = mkstemp(&path)
        try #require(descriptor >= 0)
        write(descriptor, text, text.utf8.count)
        close(descriptor)
        defer { unlink(path) }
        return try body(String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self))
    }

    private func options(
        _ text: String, _ arguments: [String] = [], _ variables: [String: String] = [:]
    ) throws -> Options {
        try withFile(text) {
            try Options(AllParts.self).reading(["--config", $0] + arguments) { variables[$0] }.checked { variables[$0] }
        }
    }

    @Test func `the command line wins, then variables, then the file, then defaults`() throws {
        let file = #"{"maxSessions": 3, "drain": "3s", "maxItems": 3, "listen": [":1", ":2"], "logRequests": true}"#
        let options = try options(
            file, ["--max-sessions", "1"], ["DIFFSERVER_MAX_SESSIONS": "2", "DIFFSERVER_DRAIN": "2s"])
        #expect(options.tableBounds.sessions == 1)
        #expect(options.drain == .seconds(2))
        #expect(options.service.stateLimits.maxItems == 3)
        #expect(options.server.listen == [ListenAddress(":1"), ListenAddress(":2")])
        #expect(options.logsRequests)
        #expect(options.drainDelay == Options().drainDelay)
    }

    @Test func `watch reads it as well, but not what it does not take`() throws {
        try withFile(#"{"maxItems": 3, "maxSessions": 3, "lists": "/no/such/file"}"#) {
            var watch = WatchCommand()
            try watch.take(
                ["--config", $0, "--max-sessions", "1", "http://127.0.0.1:1/"], environment: { _ in nil })
            #expect(watch.server.service.stateLimits.maxItems == 3)
            #expect(watch.server.tableBounds.sessions == 1)
            #expect(watch.server.listsPath == nil)
            #expect(watch.server.configuration != nil)
        }
    }

    @Test func `each option but this one has a name`() throws {
        for option in Options.all where option.flag != Options.configFlag && !option.isSecret {
            let words = option.flag.dropFirst(2).split(separator: "-")
            let name = words[0] + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
            do { _ = try options(#"{"\#(name)": "\u0000"}"#) } catch {
                #expect((error as? UsageError)?.message.contains("there is no option") == false, "\(name): \(error)")
            }
        }
    }

    @Test(arguments: [
        (#"{"maxBdy": 1}"#, #":1:2: there is no option "maxBdy"; did you mean "maxBody"?"#),
        (
            "{\"maxBody\": 1,\n \"maxBody\": 2}",
            ":2:2: not valid JSON: duplicate member: name each member of an object once"
        ),
        (#"{"config": "a"}"#, #":1:2: there is no option "config""#),
        ("{\n\"maxBody\": \"x\"}", #":2:12: maxBody: "x" is not an amount"#),
        (#"{"maxBody": null}"#, ":1:2: maxBody must be a string, a number, true, false, or an array of strings"),
        (#"{"open": 1}"#, #":1:10: open: "1" is neither true nor false"#),
        (#"{"listen": ["x"]}"#, #":1:13: listen: "x" is not an address"#),
        ("[]", ":1:1: a configuration must be an object"), ("{", ":1:2: not valid JSON"),
        (#"{"tokenSecret": "0123456789abcdef0123456789abcdef"}"#, ":1:2: tokenSecret is a secret, "),
        (#"{"key": "a:b"}"#, "name its file in keyFile"), (#"{"digestKey": "a"}"#, "set DIFFSERVER_DIGEST_KEY"),
        (#"{"store": "redis://:word@host"}"#, "name its file in storePasswordFile"),
    ])
    func `a mistake is told with its place, and never repeats a secret`(_ text: String, _ message: String) throws {
        let error = #expect(throws: UsageError.self) { try options(text) }
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
        #expect(error?.isLocated == true)
        #expect(["0123456789", "word@"].allSatisfy { error?.message.contains($0) == false })
    }

    @Test func `what differs is told by its names`() throws {
        let old = try withFile(#"{"maxBody": 1, "listen": [":1"], "drain": "1s"}"#) { try ConfigurationFile($0) }
        let new = try withFile(#"{"maxBody": 2, "listen": ":1", "open": true}"#) { try ConfigurationFile($0) }
        #expect(new.differences(from: old) == ["open", "maxBody", "drain"])
        #expect(new.differences(from: new) == [])
    }
}

@Suite struct CompletionTests {
    @Test(arguments: Completion.Shell.allCases)
    func `a script names every option of every command`(_ shell: Completion.Shell) {
        let script = Completion(parts: AllParts.self).script(for: shell)
        var flags = Options.all.map(\.flag) + DiffCommand.all.map(\.flag) + TokenCommand.all.map(\.flag)
        for command in AllParts.commands { flags += Self.flags(command) }
        for flag in flags { #expect(script.contains(flag)) }
        for topic in Help.Topic.allCases { #expect(script.contains(topic.rawValue)) }
    }

    private static func flags<Target: CommandOptions>(_ target: Target.Type) -> [String] { Target.all.map(\.flag) }

    @Test(arguments: Completion.Shell.allCases)
    func `the small server's script has nothing that needs more`(_ shell: Completion.Shell) {
        let script = Completion(parts: nil).script(for: shell)
        for word in ["--lists", "--store-prefix", "check-lists"] { #expect(!script.contains(word)) }
    }
}
