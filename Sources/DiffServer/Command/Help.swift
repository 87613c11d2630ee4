import DiffService
import SnapshotKit

/// `diffserver help`, and the help of each command.
enum Help {
    /// Everything, or the command of that name.
    enum Topic: String, CaseIterable {
        case overview = "help"
        case serve, diff, key, token
        case healthCheck = "healthcheck"
        case checkLists = "check-lists"

        /// For error messages.
        var pointer: String { self == .overview ? "see diffserver help" : "see diffserver \(rawValue) --help" }
    }

    static func text(of topic: Topic) -> String {
        switch topic {
        case .overview: overview
        case .serve: serve
        case .diff: diff
        case .key: key
        case .token: token
        case .healthCheck: healthCheck
        case .checkLists: checkLists
        }
    }

    private static var overview: String {
        """
        diffserver \(Version.text): the smallest changeset between two states of a list, over HTTP

        diffserver [serve] [OPTION…]       serve; the default is http://127.0.0.1:8080
        diffserver diff OLD.json NEW.json  print the changeset between two files
        diffserver key [NAME]              make a writer's key, and its hash for --key
        diffserver token --session NAME    mint a client's token
        diffserver healthcheck             ask a server whether it is ready
        diffserver check-lists FILE        check a file of lists
        diffserver help [COMMAND]          print this text, or a command's; also COMMAND --help
        diffserver version                 print the version

        Dialects:

        \(dialects)

        \(options(OptionTable.groups.filter { !$0.isRare }))
        `diffserver serve --help` also lists the limits whose defaults suit nearly everyone.

        """
    }

    private static var serve: String {
        """
        Usage: diffserver [serve] [OPTION…]

        Serves on http://127.0.0.1:8080 until SIGTERM or SIGINT. SIGHUP reloads certificates, lists and token secrets.
        Exit status: 0 after a clean shutdown, 1 if it cannot start, 2 for wrong options, 70 if it was stuck.

        Examples:

          diffserver                                        this machine only, no key
          diffserver --listen :8080 --open                  anyone who can reach it, no key
          diffserver --listen :8080 --key-file keys         anyone with a key made by "diffserver key"
          diffserver --store sqlite:/var/lib/diffserver/sessions.db
          diffserver --store redis://10.0.0.5 --digest-key "$(cat digests)" --listen :8080 --key-file keys

        \(options(OptionTable.groups))
        """
    }

    private static var diff: String {
        """
        Usage: diffserver diff [OPTION…] OLD.json NEW.json

        Prints the changeset between two files; - means standard input. Exit status 1 if a file cannot be used.

          [--dialect NAME]            keyed (default), or another of those below
          [--staging safe|compact]    staged only: no step that a list view could reject (default), or the fewest steps
          [--content full|patch]      updates carry the row's whole content (default), or a merge patch

        Where the list is in a document of another form (JSON Pointers):

          [--items-at P]  [--id-at P]…  [--kind-at P]  [--children-at P]  [--expanded-at P]
          [--sections-at P]  [--section-id-at P]  [--section-expanded-at P]
          [--map]                     an object's members are the rows, their names the ids
          [--rest true|P]…            other parts of the document to compare
          [--duplicates refuse|first] what to do with a duplicate id
          [--missing refuse|empty]    what to do where the list is not there
          [--invalid refuse|skip]     what to do with an element without a usable id

        Examples:

          diffserver diff old.json new.json
          curl -s https://example.org/fires | diffserver diff --items-at /Incidents --id-at /UniqueId before.json -

        Dialects:

        \(dialects)

        """
    }

    private static var key: String {
        """
        Usage: diffserver key [NAME]

        Makes a writer's key and prints it, with the server option that accepts it. The option holds only the key's
        hash. The key is stored nowhere: keep it. The name (default: writer) is only a label.

        Example:

          diffserver key backend

        """
    }

    private static var token: String {
        """
        Usage: diffserver token --session NAME… [OPTION…]

        Mints a client's token from the server's secret. No server needs to run.

          --session NAME              a session it is good for; up to \(Token.maxSessions) times
          --scope SCOPES              comma-separated (default read):
                                      \(Token.Scope.words)
          --client-id NAME            the client it is for, which gets Idempotency-Keys of its own
          --ttl TIME                  lifetime, from 1s to 7d (default 1h)
          --token-secret-file FILE    the file with the server's secret
          --token-secret TEXT         the secret itself, which ps shows to every user; or set
                                      DIFFSERVER_TOKEN_SECRET or DIFFSERVER_TOKEN_SECRET_FILE

        Example:

          diffserver token --session shop --scope read,edit --ttl 15m --token-secret-file /run/secrets/tokens

        """
    }

    private static var healthCheck: String {
        """
        Usage: diffserver healthcheck [OPTION…]

        Asks the server on this machine whether it is ready (GET /readyz). Exit status: 0 if it is, else 1. It takes the
        options and variables of serve, to find the address and to know whether to speak TLS.

        Example:

          diffserver healthcheck --listen unix:/run/diffserver.sock

        """
    }

    private static var checkLists: String {
        """
        Usage: diffserver check-lists [--try] FILE [SESSION…]

        Checks a file of lists and prints one line per fault. Exit status: 0 if there are none, else 1. docs/upstream.md
        describes such files.

          --try                       also fetch the sources of lists without segments and of the sessions named

        Example:

          diffserver check-lists --try lists.json team-7

        """
    }

    // MARK: Parts

    private static var dialects: String {
        Dialect.allCases.map { dialect in
            let name = dialect.rawValue
            return "  \(name)\(String(repeating: " ", count: max(1, 12 - name.count)))\(dialect.summary)"
        }.joined(separator: "\n")
    }

    /// Options of `serve`, group by group.
    private static func options(_ groups: [OptionGroup]) -> String {
        """
        Options of serve. Each can also be an environment variable: --max-body is DIFFSERVER_MAX_BODY. Sizes are written
        16MiB, times 500ms, 10s or 1h. docs/operations.md says how to choose them.

        \(groups.map { "\($0.title):\n\n" + $0.options.map(line).joined(separator: "\n") + "\n" }
            .joined(separator: "\n"))
        """
    }

    private static func line(_ option: Option) -> String {
        "  \(option.flag)\(option.value.map { " " + $0 } ?? "")\n" + wrapped(option.help)
    }

    /// Lines of at most 100 columns, indented by 8.
    private static func wrapped(_ text: String) -> String {
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
