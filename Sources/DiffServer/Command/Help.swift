import DiffService
import SnapshotKit

/// `diffserver help`, and the help of each command.
package struct Help {
    let parts: (any Parts.Type)?

    /// Everything, or the command of that name.
    package enum Topic: String, CaseIterable {
        case overview = "help"
        case serve, diff, key, token
        case healthCheck = "healthcheck"
        case checkLists = "check-lists"
        case copy, shape, watch, completion
        case manual = "man"

        package var pointer: String { "see diffserver \(rawValue) --help" }

        /// Whether the command comes with parts.
        var isAdded: Bool { [.checkLists, .copy, .shape, .watch].contains(self) }
    }

    var commands: [any Subcommand.Type] { [DiffCommand.self, TokenCommand.self] + (parts?.commands ?? []) }

    func has(_ topic: Topic) -> Bool { parts != nil || !topic.isAdded }

    /// What a server without parts does.
    static let limits = "keeps sessions in memory, and fetches no lists"

    /// The help; without parts, also without the lines of commands and examples that need them.
    func text(of topic: Topic) -> String {
        guard parts == nil else { return whole(topic) }
        let added = ["--store "] + Topic.allCases.filter(\.isAdded).map { "diffserver \($0.rawValue) " }
        let lines = whole(topic).lines.filter { line in !added.contains { line.contains($0) } }
        return lines.joined(separator: "\n") + (topic == .overview ? "\nThis server \(Self.limits).\n" : "")
    }

    private func whole(_ topic: Topic) -> String {
        switch topic {
        case .overview:
            """
            diffserver \(Version.text): the smallest changeset between two states of a list, over HTTP

            diffserver [serve] [OPTION…]       serve; the default is http://127.0.0.1:8080
            diffserver diff OLD.json NEW.json  print the changeset between two files
            diffserver key [NAME]              make a writer's key, and its hash for --key
            diffserver token --session NAME    mint a client's token
            diffserver healthcheck             ask a server whether it is ready
            diffserver check-lists FILE        check a file of lists
            diffserver copy --from S --to S    copy sessions from one store into another
            diffserver shape FILE|URL          tell where the list is in a JSON document
            diffserver watch URL               show the list of any JSON address, live
            diffserver help [COMMAND]          print this text, or a command's; also COMMAND --help
            diffserver help man                print all of it as a manual page
            diffserver completion bash|zsh     print the script by which a shell completes all of it
            diffserver version                 print the version

            Dialects:

            \(dialects)

            \(serverOptions(Options.groups.filter { !$0.isRare }))
            `diffserver serve --help` also lists the limits whose defaults suit nearly everyone.

            """
        case .serve:
            """
            Usage: diffserver [serve] [OPTION…]

            Serves on http://127.0.0.1:8080 until SIGTERM or SIGINT. Certificates, lists, keys and token secrets
            are read again when they change, or on SIGHUP. Exit status: 0 after a clean shutdown, 1 if it cannot \
            start, 2
            for wrong options, 70 if it was stuck.

            Examples:

              diffserver                                        this machine only, no key
              diffserver --listen :8080 --open                  anyone who can reach it, no key
              diffserver --listen :8080 --key-file keys         anyone with a key made by "diffserver key"
              diffserver --store sqlite:/var/lib/diffserver/sessions.db
              diffserver --store redis://10.0.0.5 --digest-key "$(cat digests)" --listen :8080 --key-file keys

            \(serverOptions(Options.groups))
            """
        case .key:
            """
            Usage: diffserver key [NAME]

            Makes a writer's key and prints it, with the server option that accepts it. The option holds only the key's
            hash. The key is stored nowhere: keep it. The name (default: writer) is only a label.

            Example:

              diffserver key backend

            """
        case .healthCheck:
            """
            Usage: diffserver healthcheck [OPTION…]

            Asks the server on this machine whether it is ready (GET /readyz). Exit status: 0 if it is, else 1. It \
            takes the
            options and variables of serve, to find the address and to know whether to speak TLS. Without options it \
            takes
            those of the server that is the first process of its container.

            Example:

              diffserver healthcheck --listen unix:/run/diffserver.sock

            """
        case .completion:
            """
            Usage: diffserver completion bash|zsh

            Prints a script by which the shell completes commands, options and their values.

            Examples:

              diffserver completion bash >/etc/bash_completion.d/diffserver
              diffserver completion zsh >/usr/local/share/zsh/site-functions/_diffserver

            """
        case .diff, .token, .checkLists, .copy, .shape, .watch: commands.first { $0.topic == topic }?.help(self) ?? ""
        case .manual: Manual.page(of: self)
        }
    }

    // MARK: Parts

    var dialects: String {
        Dialect.allCases.map { dialect in
            let name = dialect.rawValue
            return "  \(name)\(String(repeating: " ", count: max(1, 12 - name.count)))\(dialect.summary)"
        }.joined(separator: "\n")
    }

    private func serverOptions(_ groups: [OptionGroup<Options>]) -> String {
        """
        Options of serve:

        Each can also be an environment variable, --max-body is DIFFSERVER_MAX_BODY, or a member of the file of
        --config, "maxBody". Sizes are written 16MiB, times 500ms, 10s or 1h. docs/operations.md says how to choose
        them.

        \(options(groups))
        """
    }

    package func options<Target>(_ groups: [OptionGroup<Target>]) -> String {
        groups.map { "\($0.title):\n\n" + $0.options.compactMap(line).joined(separator: "\n") + "\n" }.joined(
            separator: "\n")
    }

    private func line<Target>(_ option: Option<Target>) -> String? {
        if parts == nil, Target.needsParts(option.flag, "") { return nil }
        return "  \(option.flag)\(option.value.map { " " + $0 } ?? "")\n" + wrapped(option.help)
    }

    /// Lines of at most 100 columns, indented by 8.
    private func wrapped(_ text: String) -> String {
        var lines: [String] = []
        for word in text.split(separator: " ") {
            if let last = lines.last, 8 + last.count + 1 + word.count <= 100 {
                lines[lines.count - 1] = "\(last) \(word)"
            } else {
                lines.append(String(word))
            }
        }
        return lines.map { "        \($0)" }.joined(separator: "\n")
    }
}
