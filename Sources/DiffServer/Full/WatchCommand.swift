// `diffserver watch URL`: a server whose file of lists has one list, made in memory. The URL is fetched once before
// that starts, so that its shape can be guessed, and any problem with it is reported at once.

import CDiffSystem
import DiffCommand
import DiffService
import HTTPCore
import SnapshotKit

/// `diffserver watch URL`: a page on which the list of any JSON address moves.
struct WatchCommand: AddedCommand {
    private var list = SingleList()
    /// The given members of the shape, in order; none if the shape is to be guessed.
    private var members: [(StateShape.Member, String)] = []
    private var server = Options()
    private var isQuiet = false

    init() {}

    init(_ arguments: [String], environment: @escaping Environment, defaults: Options) throws(UsageError) {
        let others: [String]
        var initial = WatchCommand()
        initial.server = defaults
        (self, others) = try CommandLineParser(arguments).read(environment, into: initial)
        guard others.count == 1, others[0].isURL else {
            throw UsageError("watch takes one URL, which begins with http:// or https://; \(Self.topic.pointer)")
        }
        list.url = others[0]
        if !members.isEmpty { list.shape = try StateShape(flags: members) }
        _ = try list.file(environment: environment)
        server = try server.checked(environment: environment)
    }

    static let topic = Help.Topic.watch
    var parts: (any Parts.Type)? { server.parts }

    static func help(_ help: Help) -> String {
        """
        Usage: diffserver watch [OPTION…] URL

        Serves the list of a JSON address, fetched while somebody looks, and opens the page on which it moves. Where the
        list is in the document is guessed, unless options say it. It takes the options and variables of serve, too, but
        --lists and --check. Exit status 1 if the URL does not answer with a list.

        \(help.options(WatchCommand.groups.filter { !$0.isRare }))
        Examples:

          diffserver watch https://example.org/fires
          diffserver watch https://example.org/fires --every 30s --items-at /Incidents --id-at /UniqueId

        """
    }

    static func variable(for flag: String) -> String? {
        ofServer.contains { $0.flag == flag } ? Options.variable(for: flag) : nil
    }

    static let groups = [
        OptionGroup<Self>(
            title: "Options",
            options: [
                .time(
                    "--every", "how often the URL is fetched", \.list.every, .milliseconds(100)...Duration.seconds(3600)
                ),
                .value("--name", "SESSION", "the session's name (default watch)", "is empty", \.list.name) {
                    $0.isEmpty ? nil : $0
                },
                .headers(\.list.headers),
                .toggle("--no-browser", "only print the page's address", \.isQuiet),
            ]),
        .shape("Where the list is in the document, if the guess is wrong, by JSON Pointers (P)", \.members),
        OptionGroup<Self>(title: "Those of serve", options: ofServer, isRare: true),
    ]

    /// It makes its own file of lists, and always serves.
    private static let ofServer: [Option<Self>] = Options.all.filter { !["--lists", "--check"].contains($0.flag) }.map {
        $0.within(\.server)
    }

    // MARK: Running

    /// Serves until a signal ends the process.
    func run(environment: @escaping Environment) throws(UsageError) -> Never {
        var (list, options) = (list, server)
        let answer = try list.fetch(environment: environment)
        let found = reading(of: answer.body)
        list.shape = found.shape
        options.lists = try list.file(environment: environment)
        print("\(list.url) answers with \(found.words): \(answer.body.count) bytes in \(answer.time)")
        if members.isEmpty {
            print(
                found.shape == .native
                    ? "It is read as it is." : "Guessed: \(found.shape.flags) (say it yourself to have it otherwise)")
        }
        print("As an entry of a file for serve --lists:")
        print("  \(list.entry)")
        Serve.run(options) { [list] addresses in tell(list, addresses, environment) }
    }

    /// How the document is read.
    private func reading(of json: [UInt8]) -> ShapeGuess {
        var document = StateDocument(json)
        do throws(StateError) {
            if !members.isEmpty {
                let reading = try document.state(list.shape, limits: server.service.stateLimits)
                return ShapeGuess(list.shape, reading)
            }
            if let best = try document.shapes(server.service.stateLimits).first { return best }
        } catch { fail("\(list.url): \(error.words)") }
        let reason = ShapeCommand.reason(document)
        fail("\(list.url): \(reason); say where it is, such as --items-at /data --id-at /key; \(Self.topic.pointer)")
    }

    /// Prints how to follow the list, and opens the page if there is somebody to see it.
    private func tell(_ list: SingleList, _ addresses: [SocketAddress], _ environment: Environment) {
        let scheme = server.certificate == nil ? "http" : "https"
        guard let base = addresses.lazy.compactMap(\.url).first.map({ "\(scheme)://\($0)" }) else { return }
        let key = server.allKeys.isEmpty ? "" : #" -H "Authorization: Bearer $KEY""#
        print("curl -N -H 'Accept: text/event-stream'\(key) \(base)/v1/sessions/\(list.name)/changes")
        print("Page: \(base)/#live:\(list.name)")
        fflush(nil)
        if !isQuiet { Browser.open("\(base)/#live:\(list.name)", environment: environment) }
    }
}

extension SocketAddress {
    /// Host and port for a URL on this machine; nil of a path.
    fileprivate var url: String? {
        // A server on every address answers on the loopback.
        switch self {
        case .unix: nil
        case .v4(0, let port): "127.0.0.1:\(port)"
        case .v6(0, 0, let port, _): "[::1]:\(port)"
        case .v4, .v6: description
        }
    }
}

/// The desktop's browser.
enum Browser {
    /// Opens a page, if there is a display, and a terminal in which somebody asked for it.
    static func open(_ url: String, environment: Environment) {
        let hasDisplay = ["DISPLAY", "WAYLAND_DISPLAY"].contains { environment($0)?.isEmpty == false }
        guard hasDisplay, isatty(STDOUT_FILENO) == 1 else { return }
        var attributes = posix_spawnattr_t()
        var actions = posix_spawn_file_actions_t()
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_init(&attributes)
        // The server's signals are blocked in its threads, and must not be blocked in a browser.
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        posix_spawn_file_actions_init(&actions)
        for descriptor in [STDOUT_FILENO, STDERR_FILENO] {
            posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_WRONLY, 0)
        }
        var process = pid_t()
        let words = ["xdg-open", url]
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        let status = posix_spawnp(&process, "xdg-open", &actions, &attributes, &arguments, environ)
        for argument in arguments { free(argument) }
        posix_spawn_file_actions_destroy(&actions)
        posix_spawnattr_destroy(&attributes)
        guard status == 0 else { return }
        SystemThread.start(named: "browser") { [process] in _ = waitpid(process, nil, 0) }
    }
}
