import CDiffSystem
import DiffCommand
import DiffStores

/// `diffserver copy --from STORE --to STORE`: sessions of one store in another, so that their readers go on there.
struct CopyCommand: Subcommand {
    private var source = Options()
    private var target = Options()
    private var prefix: String?
    private var resumes = false

    mutating func take(_ arguments: [String], environment: @escaping Environment) throws(UsageError) {
        (source, target) = (Options(AllParts.self), Options(AllParts.self))
        let others = try read(arguments, environment)
        if let other = others.first { throw UsageError("\"\(other)\" is not an option; \(Self.topic.pointer)") }
        guard source.store != nil, target.store != nil else {
            throw UsageError("copy takes --from STORE and --to STORE; \(Self.topic.pointer)")
        }
        target.digestKey = source.digestKey
        source = try Self.checked(source, "--from", environment)
        target = try Self.checked(target, "--to", environment)
    }

    /// The options of a side, with the contents of their files. What is said of `--store` is said of the side.
    private static func checked(
        _ options: Options, _ side: String, _ environment: @escaping Environment
    ) throws(UsageError) -> Options {
        do throws(UsageError) {
            var checked = try options.checked(environment: environment)
            checked.warnings = checked.warnings.map { $0.replacing("--store", with: side) }
            return checked
        } catch { throw UsageError(error.message.replacing("--store", with: side)) }
    }

    static let topic = Help.Topic.copy

    static func help(_ help: Help) -> String {
        """
        Usage: diffserver copy [OPTION…] --from STORE --to STORE

        Copies sessions into another store as they are: state, settings, history, answered Idempotency-Keys, the time
        left, and revocations of tokens. Readers go on there from where they were. No server may use the target, and
        what is written to the source meanwhile may be missing. Each session comes whole or not at all, and nothing is
        written if the target has another session of a name. Exit status 1 if anything could not be copied.

        \(help.options(CopyCommand.groups))
        Examples:

          diffserver copy --from sqlite:sessions.db --to redis://10.0.0.5 --digest-key "$(cat digests)"
          diffserver copy --from redis://10.0.0.5 --to redis://10.0.0.5 --to-prefix green: --digest-key "$(cat digests)"

        """
    }

    static func variable(for flag: String) -> String? { flag == "--digest-key" ? Options.variable(for: flag) : nil }

    static let groups = [
        OptionGroup<Self>(options: [
            store("--from", "the store to copy", \.source.store), store("--to", "where to", \.target.store),
            .text("--prefix", "TEXT", "copy only the sessions whose names begin with this", \.prefix),
            .toggle("--resume", "skip the sessions that are there already and equal", \.resumes),
            .text(
                "--digest-key", "TEXT",
                "key of the digests in both (required with Redis; default: that of the file to copy)",
                \.source.digestKey
            ).keptSecret(),
        ]),
        OptionGroup<Self>(title: "Of the store to copy", options: options("--from", \.source)),
        OptionGroup<Self>(title: "Of the other one", options: options("--to", \.target)),
    ]

    private static func store(
        _ flag: String, _ help: String, _ path: WritableKeyPath<Self, (any StoreAddress)?> & Sendable
    ) -> Option<Self> {
        .value(
            flag, "STORE", "\(help): sqlite:PATH, or an address of Redis, as --store of serve takes it",
            "is neither sqlite:PATH nor an address of Redis", path
        ) { AllParts.store($0).map(Optional.some) }.keptSecret()
    }

    /// The options of `serve` that a side has, as `--from-ca`.
    private static func options(_ side: String, _ path: WritableKeyPath<Self, Options> & Sendable) -> [Option<Self>] {
        Options.all.filter { ["--store-prefix", "--store-password-file", "--store-ca"].contains($0.flag) }.map {
            $0.within(path, as: $0.flag.replacing("--store", with: side))
        }
    }

    // MARK: Running

    /// Copies, says what it did, and ends: with 1 if something stayed behind.
    func run(environment: @escaping Environment) -> Never {
        for warning in source.warnings + target.warnings { print("warning: \(warning)") }
        do throws(StoreError) {
            guard let from = try source.store?.archive(source, isSource: true) else { end(2) }
            var options = target
            options.digestKey = from.digestKey
            guard let to = try target.store?.archive(options, isSource: false) else { end(2) }
            var copy = StoreCopy(from, to, of: prefix ?? "") { warn("diffserver: \($0)") }
            try copy.run(resumes: resumes)
            from.close()
            to.close()
            print(copy.summary)
            fflush(nil)
            end(copy.missed > 0 ? 1 : 0)
        } catch { fail("\(error)") }
    }
}
