import SnapshotKit

/// The version of this program.
enum Version {
    static let text = "0.1.0"
}

/// `diffserver help`.
enum Help {
    static var text: String {
        """
        diffserver \(Version.text): the smallest changeset between two states of a list, over HTTP

        diffserver [serve] [OPTION…]       serve; the default is http://127.0.0.1:8080
        diffserver diff OLD.json NEW.json  the changeset between two files; - is standard input
            [--dialect NAME] [--staging safe|compact] [--content full|patch]
            [--items-at P] [--id-at P]… [--sections-at P] [--section-id-at P] [--kind-at P] [--children-at P]
            [--expanded-at P] [--map] [--rest true|P]… [--duplicates refuse|first]
        diffserver key [NAME]              makes a writer's key, and its hash for --key
        diffserver token --session NAME… [--scope read,edit] [--ttl 1h] [--token-secret TEXT | --token-secret-file FILE]
                                           mints a thin client's token with the server's secret; a scope may also be
                                           one operation: edit:move
        diffserver healthcheck [--listen ADDRESS]
                                           asks whether the server is ready; exit status 0 if it is
        diffserver check-lists [--try] FILE [SESSION...]
                                           what is wrong with a file of lists, a line each; exit status 0 if nothing is;
                                           with --try its sources are asked, too: those of lists without segments, and
                                           of the sessions that are named
        diffserver help                    this text
        diffserver version                 the version

        Dialects:

        \(Dialect.allCases.map(line).joined(separator: "\n"))

        Options of serve, each also as a variable (--max-body is DIFFSERVER_MAX_BODY); amounts as 16MiB, times as 500ms,
        10s, 1h:

        \(OptionTable.all.map(line).joined(separator: "\n"))

        """
    }

    private static func line(_ dialect: Dialect) -> String {
        let name = dialect.rawValue
        return "  \(name)\(String(repeating: " ", count: max(1, 12 - name.count)))\(dialect.summary)"
    }

    private static func line(_ option: Option) -> String {
        "  \(option.flag)\(option.value.map { " " + $0 } ?? "")\n        \(option.help)"
    }
}
