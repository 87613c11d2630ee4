import CDiffSystem
import DiffCommand
import DiffService
import DiffUpstream
import SnapshotKit

/// `diffserver check-lists [--try] FILE [SESSION…]`: whether a server with the same variables could start with
/// `--lists FILE`, and whether the sources answer with lists.
struct CheckLists: Subcommand {
    private(set) var path = ""
    private var tries = false
    /// Sessions to try besides the lists without segments.
    private var sessions: [String] = []

    mutating func take(_ arguments: [String], environment: @escaping Environment) throws(UsageError) {
        let others = try read(arguments)
        guard let file = others.first, tries || others.count == 1 else {
            throw UsageError("check-lists takes one lists file, and with --try also sessions; \(Self.topic.pointer)")
        }
        (path, sessions) = (file, Array(others.dropFirst()))
    }

    static let topic = Help.Topic.checkLists

    static func help(_ help: Help) -> String {
        """
        Usage: diffserver check-lists [--try] FILE [SESSION…]

        Checks a file of lists and prints one line per fault. Exit status: 0 if there are none, else 1. docs/upstream.md
        describes such files.

        \(help.options(CheckLists.groups))
        Example:

          diffserver check-lists --try lists.json team-7

        """
    }

    static let groups = [
        OptionGroup<Self>(options: [
            .toggle("--try", "also fetch the sources of lists without segments and of the sessions named", \.tries)
        ])
    ]

    func run(environment: @escaping Environment) -> Never {
        let file: ListsFile
        do throws(UsageError) { file = try ListsFile(path, environment) } catch { fail(error, status: 1) }
        if tries, failures(file) > 0 { end(1) }
        print("\(path): \(Serve.count(file.count, "list")), no faults")
        exit(0)
    }

    // MARK: Trying

    /// Fetches sources one after the other, and prints a line for each. Returns how many did not answer with a list.
    private func failures(_ file: ListsFile) -> Int {
        var failures = 0
        for definition in file.lists where definition.hasSource {
            let name = definition.name.text
            let tried =
                definition.name.isExact ? [name] : sessions.filter { file.list(of: $0)?.definition === definition }
            if tried.isEmpty {
                print("\(name): not tried; name one of its sessions: check-lists --try \(path) SESSION")
            }
            for session in tried {
                guard let list = file.list(of: session) else { continue }
                for feed in list.definition.feeds {
                    let source = feed.section.map { "\(session)/\($0.id)" } ?? session
                    do throws(Transfer.Failure) { print("\(source): \(try answer(of: list, feed))") } catch {
                        failures += 1
                        print("\(source): \(error.reason)")
                    }
                }
            }
        }
        for session in sessions where file.list(of: session)?.definition.hasSource != true {
            failures += 1
            print("\(session): no list with this name has a source")
        }
        fflush(nil)
        return failures
    }

    private func answer(of list: ListMatch, _ feed: ListDefinition.Feed) throws(Transfer.Failure) -> String {
        let options = ServiceSettings()
        let answer = try SourceProbe.ask(list, feed)
        var settings = list.definition.settings.applied(to: options.defaultSettings)
        var document = StateDocument(answer.body)
        do throws(StateError) {
            var guess = ""
            if list.definition.guessesShape {
                let shapes = try document.listShapes(options.stateLimits).map(\.shape)
                guard let best = shapes.first else { return "no items to guess a shape from, \(answer.time)" }
                (settings.shape, guess) = (best, "; guessed: \(shapes.map(\.json).joined(separator: ", or "))")
            }
            let snapshot = try feed.state(in: &document, settings, options.stateLimits)
            return "\(snapshot.itemCount) items, \(answer.body.count) bytes, \(answer.time)\(guess)"
        } catch {
            let likely = (try? document.listShapes(options.stateLimits))?.first?.shape
            let advice = likely.map { $0 == .native ? "" : "; it looks like \($0.json)" } ?? ""
            throw Transfer.Failure(reason: "its answer is not a state: \(Problem(error).summary)\(advice)")
        }
    }
}
