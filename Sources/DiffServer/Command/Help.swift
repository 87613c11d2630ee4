import SnapshotKit

/// The version of this program.
enum Version {
    static let text = "0.2.0"
}

/// `diffserver help`, and what each command says of itself.
enum Help {
    /// What help is about: everything, or the command of that name.
    enum Topic: String, CaseIterable {
        case overview = "help"
        case serve, diff, key, token
        case healthCheck = "healthcheck"
        case checkLists = "check-lists"

        /// Where an error sends whoever made it.
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
        diffserver diff OLD.json NEW.json  the changeset between two files
        diffserver key [NAME]              makes a writer's key, and its hash for --key
        diffserver token --session NAME    mints a thin client's token
        diffserver healthcheck             asks a server whether it is ready
        diffserver check-lists FILE        what is wrong with a file of lists
        diffserver help [COMMAND]          this text, or what a command takes; also COMMAND --help
        diffserver version                 the version

        Dialects:

        \(dialects)

        \(options)
        """
    }

    private static var serve: String {
        """
        Usage: diffserver [serve] [OPTION…]

        Serves on http://127.0.0.1:8080 until SIGTERM or SIGINT. Exit status 0 after a drain, 1 if it cannot start, 2 if
        the options make no sense, 70 if it was stuck. SIGHUP reads certificates, lists and secrets of tokens again.

        Examples:

          diffserver                                        for this machine alone, without a key
          diffserver --listen :8080 --open                  for whoever reaches it, without a key
          diffserver --listen :8080 --key-file keys         for holders of keys that "diffserver key" made
          diffserver --store sqlite:/var/lib/diffserver/sessions.db
          diffserver --store redis://10.0.0.5 --listen :8080 --key-file keys --token-secret-file tokens

        \(options)
        """
    }

    private static var diff: String {
        """
        Usage: diffserver diff [OPTION…] OLD.json NEW.json

        Prints the changeset between two files; - is standard input. Exit status 1 if a file cannot be used.

          [--dialect NAME]            keyed (default), or another of those below
          [--staging safe|compact]    of staged: no step that a list view could refuse (default), or the fewest steps
          [--content full|patch]      of updates: all of a row's content (default), or a merge patch

        Where the list stands in a document of any other form (JSON Pointers):

          [--items-at P]  [--id-at P]…  [--kind-at P]  [--children-at P]  [--expanded-at P]
          [--sections-at P]  [--section-id-at P]
          [--map]                     an object's members are the rows, their names the ids
          [--rest true|P]…            what else of the document counts
          [--duplicates refuse|first] what to do with an id that comes twice

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

        Makes a writer's key, and the option that lets a server know it by its hash. The key itself is printed here and
        kept nowhere; the name (default: writer) is for logs.

        Example:

          diffserver key backend

        """
    }

    private static var token: String {
        """
        Usage: diffserver token --session NAME… [OPTION…]

        Mints a thin client's token with the server's secret, and without the server.

          --session NAME              a session that it is for; up to \(Token.maxSessions) times
          --scope SCOPES              separated by commas (default read): \(Token.Scope.words)
          --ttl TIME                  until it ends, from 1s to 7d (default 1h)
          --token-secret-file FILE    the server's secret, as it has it
          --token-secret TEXT         the same, for everybody to see who runs ps; or the variable
                                      DIFFSERVER_TOKEN_SECRET, or DIFFSERVER_TOKEN_SECRET_FILE

        Example:

          diffserver token --session shop --scope read,edit --ttl 15m --token-secret-file /run/secrets/tokens

        """
    }

    private static var healthCheck: String {
        """
        Usage: diffserver healthcheck [OPTION…]

        Asks the server on this machine whether it is ready (GET /readyz). Exit status 0 if it is. Takes the options and
        variables of serve, so that it finds the address and knows whether to speak TLS.

        Example:

          diffserver healthcheck --listen unix:/run/diffserver.sock

        """
    }

    private static var checkLists: String {
        """
        Usage: diffserver check-lists [--try] FILE [SESSION…]

        Says what is wrong with a file of lists, a line for each fault. Exit status 0 if nothing is. docs/upstream.md
        has all that such a file may hold.

          --try                       ask the sources, too: of lists without segments, and of the sessions named

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

    /// All options of `serve`, group by group.
    private static var options: String {
        """
        Options of serve, each also as a variable (--max-body is DIFFSERVER_MAX_BODY); amounts as 16MiB, times as 500ms,
        10s, 1h. docs/operations.md says how to choose them.

        \(OptionTable.groups.map { "\($0.title):\n\n" + $0.options.map(line).joined(separator: "\n") + "\n" }
            .joined(separator: "\n"))
        """
    }

    private static func line(_ option: Option) -> String {
        "  \(option.flag)\(option.value.map { " " + $0 } ?? "")\n        \(option.help)"
    }
}
