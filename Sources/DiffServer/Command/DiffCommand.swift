import CDiffSystem
import DiffService
import SnapshotKit

/// `diffserver diff OLD.json NEW.json`: the changeset between two files.
struct DiffCommand: Subcommand {
    var old = ""
    var new = ""
    var dialect = Dialect.keyed
    var staging = Staging.safe
    var content = ContentStyle.full
    /// The given members of a shape, in order.
    private var members: [(StateShape.Member, String)] = []
    private(set) var shape = StateShape.native

    mutating func take(_ arguments: [String], environment: @escaping Environment) throws(UsageError) {
        let files = try read(arguments)
        guard files.count == 2 else {
            throw UsageError("diff takes two files, OLD.json and NEW.json; \(Self.topic.pointer)")
        }
        (old, new) = (files[0], files[1])
        if !members.isEmpty { shape = try StateShape(flags: members) }
    }

    static let topic = Help.Topic.diff

    static func help(_ help: Help) -> String {
        """
        Usage: diffserver diff [OPTION…] OLD.json NEW.json

        Prints the changeset between two files; - means standard input. Exit status 1 if a file cannot be used.

        \(help.options(groups))
        Examples:

          diffserver diff old.json new.json
          curl -s https://example.org/fires | diffserver diff --items-at /Incidents --id-at /UniqueId before.json -

        Dialects:

        \(help.dialects)

        """
    }

    static let groups = [
        OptionGroup<Self>(options: [
            .choice("--dialect", "keyed (default), or another of those below", \.dialect, "NAME"),
            .choice(
                "--staging",
                "staged only: no step that a list view could reject (default), or the fewest steps", \.staging),
            .choice("--content", "updates carry the row's whole content (default), or a merge patch", \.content),
        ]),
        .shape("Where the list is in a document of another form, by JSON Pointers (P)", \.members),
    ]

    func run(environment: @escaping Environment) -> Never {
        let before = read(old, upon: nil)
        let changeset = Changeset(from: before, to: read(new, upon: before))
        print(String(decoding: changeset.json(dialect, staging: staging, content: content), as: UTF8.self))
        LogOutput.standardError.flush()
        exit(0)
    }

    private func read(_ path: String, upon known: Snapshot?) -> Snapshot {
        do throws(StateError) {
            let reading = try Snapshot.reading(
                json: Files.readOrFail(path), shape: shape, limits: .none, upon: known,
                continuing: ElementHead(sequence: known == nil ? 0 : 1))
            for warning in reading.warnings { warn("diffserver: \(path): \(warning.code) at \(warning.pointer)") }
            return reading.snapshot
        } catch {
            let problem = Problem(error)
            let faults = problem.errors.map { "  \($0.pointer): \($0.detail)" }
            let lines = ["diffserver: \(path): \(problem.type.name): \(problem.detail)"] + faults
            end(1, saying: lines.map(Self.advice))
        }
    }

    /// Translates text about requests: `?idAt=/id` is `--id-at /id` here.
    static func advice(_ text: String) -> String {
        StateShape.Member.allCases.reduce(text.replacing("map=true", with: StateShape.Member.map.flag)) {
            $0.replacing("?\($1.rawValue)=", with: "\($1.flag) ").replacing("\($1.rawValue)=", with: "\($1.flag) ")
        }
    }
}

extension StateError {
    /// For a person.
    package var words: String {
        if case .json(let error) = self { return "not JSON: \(error)" }
        return DiffCommand.advice(Problem(self).summary)
    }
}

extension OptionGroup {
    /// The members of a shape, collected in order.
    package static func shape(
        _ title: String, _ path: WritableKeyPath<Target, [(StateShape.Member, String)]> & Sendable
    ) -> OptionGroup {
        OptionGroup(
            title: title,
            options: StateShape.Member.allCases.map { member in
                Option(flag: member.flag, value: member.usage.value, help: member.usage.help) {
                    $0[keyPath: path].append((member, $1))
                    return true
                }
            })
    }
}

extension StateShape {
    package init(flags members: [(Member, String)]) throws(UsageError) {
        do throws(Failure) { try self.init(members) } catch {
            throw UsageError((error.member.map { "\($0.flag): " } ?? "") + error.detail)
        }
    }
}

extension StateShape.Member {
    /// On the command line: `--section-id-at` for `sectionIdAt`.
    package var flag: String { rawValue.reduce("--") { $0 + ($1.isUppercase ? "-" : "") + $1.lowercased() } }

    /// Its placeholder, nil for a switch, and its help.
    fileprivate var usage: (value: String?, help: String) {
        switch self {
        case .sectionsAt: ("P", "the array of sections")
        case .sectionIDAt: ("P", "the id in each section")
        case .itemsAt: ("P", "the array of items, in the document or in each section")
        case .idAt: ("P", "the id in each item; up to \(StateShape.maxParts) times for an id of several parts")
        case .idBy: ("match", "match: items have no ids; each is the old one that it is like")
        case .kindAt: ("P", "the kind in each item")
        case .childrenAt: ("P", "the array of children in each item")
        case .expandedAt: ("P", "whether an item is expanded")
        case .sectionExpandedAt: ("P", "whether a section is expanded")
        case .groupAt: ("P", "the section that an item belongs to, in each item")
        case .groupPrefix: ("N", "how many characters of that are the section's id")
        case .idScope: ("state|section", "state or section: where an item's id is unique (default state)")
        case .map: (nil, "an object's members are the rows, their names the ids")
        case .rest: ("true|P", "other parts of the document to compare; may be repeated")
        case .duplicates: ("refuse|first", "what to do with a duplicate id (default refuse)")
        case .missing: ("refuse|empty", "what to do where the list is not there (default refuse)")
        case .invalid: ("refuse|skip", "what to do with an element without a usable id (default refuse)")
        }
    }
}
