// `diffserver watch URL`: a server whose file of lists has one list, made in memory. The URL is fetched once before
// that starts, so that its shape can be guessed, and any problem with it is reported at once.

import CDiffSystem
import DiffCommand
import DiffService
import HTTPCore
import SnapshotKit

/// `diffserver watch URL`: a page on which the list of any JSON address moves.
struct WatchCommand: Subcommand {
    private var list = SingleList()
    /// The given members of the shape, in order; none if the shape is to be guessed.
    private var members: [(StateShape.Member, String)] = []
    private(set) var server = Options()
    private var isQuiet = false

    mutating func take(_ arguments: [String], environment: @escaping Environment) throws(UsageError) {
        server = Options(AllParts.self)
        let others = try read(arguments, environment, server: \.server)
        guard others.count == 1, others[0].isURL else {
            throw UsageError("watch takes one URL, which begins with http:// or https://; \(Self.topic.pointer)")
        }
        list.url = others[0]
        if !members.isEmpty { list.shape = try StateShape(flags: members) }
        _ = try list.file(environment: environment)
        server = try server.checked(environment: environment)
    }

    static let topic = Help.Topic.watch

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
        OptionGroup<Self>(options: [
            .time("--every", "how often the URL is fetched", \.list.every, .milliseconds(100)...Duration.seconds(3600)),
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

    func run(environment: @escaping Environment) throws(UsageError) -> Never {
        var (list, options) = (list, server)
        options.lists = try list.file(environment: environment)
        let answer = try list.fetch(environment: environment)
        let found = readings(of: answer.body)
        let count = found.first?.words ?? "no rows yet"
        print("\(list.url) answers with \(count): \(answer.body.count) bytes in \(answer.time)")
        if list.shape == nil || found.first?.shape != list.shape { tell(found.map(\.shape)) }
        // Where nothing is said of it, the server guesses itself, of the answers that come.
        let isGuessed = list.shape == nil
        list.shape = found.first?.shape
        if !isGuessed { options.lists = try list.file(environment: environment) }
        print("As an entry of a file for serve --lists:")
        print("  \(list.entry)")
        Serve.run(options) { [list] addresses, key in tell(list, addresses, key, environment) }
    }

    /// How the document is read, and how else it may be; nothing if there is nothing in it yet.
    private func readings(of json: [UInt8]) -> [ShapeGuess] {
        var document = StateDocument(json)
        let limits = server.service.stateLimits
        do throws(StateError) {
            if let shape = list.shape { return [ShapeGuess(shape, try document.state(shape, limits: limits))] }
            return try document.listShapes(limits)
        } catch {
            if let found = found(list.shape, in: &document) { return [found] }
            var advice = ""
            if case .wrongShape = error, list.shape == nil {
                advice = "; say where it is, such as --items-at /data --id-at /key; \(Self.topic.pointer)"
            } else if list.shape != nil, let likely = (try? document.listShapes(limits))?.first?.shape {
                advice = likely == .native ? "" : "; the document looks like \(likely.flags)"
            }
            fail("\(list.url): \(error.words)\(advice)")
        }
    }

    /// Where the list is, if it was only said what its rows' ids are.
    private func found(_ shape: StateShape?, in document: inout StateDocument) -> ShapeGuess? {
        guard let named = shape?.mapping, !members.contains(where: { $0.0 == .itemsAt }),
            let likely = (try? document.listShapes(server.service.stateLimits))?.first
        else { return nil }
        let found = document.guess(likely, keeping: named, server.service.stateLimits)
        return found.shape.mapping?.element.idAt == named.element.idAt ? found : nil
    }

    private func tell(_ shapes: [StateShape]) {
        guard let best = shapes.first else { return print("Where its rows are is guessed once there are some.") }
        guard best != .native else { return print("It is read as it is.") }
        print("Guessed: \(best.flags) (say it yourself to have it otherwise)")
        for other in shapes.dropFirst() { print("or: \(other.flags)") }
    }

    /// Prints how to follow the list, and opens the page if there is somebody to see it. The line for curl holds a key
    /// made for this server; a configured one is known only by its hash.
    private func tell(_ list: SingleList, _ addresses: [SocketAddress], _ key: String?, _ environment: Environment) {
        let scheme = server.certificate == nil ? "http" : "https"
        guard let base = addresses.lazy.compactMap(\.url).first.map({ "\(scheme)://\($0)" }) else { return }
        let secret = key ?? (server.allKeys.isEmpty ? nil : "$KEY")
        let header = secret.map { #" -H "Authorization: Bearer \#($0)""# } ?? ""
        print("curl -N -H 'Accept: text/event-stream'\(header) \(base)/v1/sessions/\(list.name)/changes")
        let page = server.pagePath == nil ? "\(base)/page#\(list.name)/\(list.title)" : "\(base)/page"
        print("Page: \(page)")
        fflush(nil)
        if !isQuiet { openInBrowser(page, environment: environment) }
    }
}

extension SocketAddress {
    /// Host and port for a URL on this machine; nil of a path.
    fileprivate var url: String? {
        // A server on every address answers on the loopback, also to IPv4, which is what containers publish.
        switch self {
        case .unix: nil
        case .v4(0, let port), .v6(0, 0, let port, _): "127.0.0.1:\(port)"
        case .v4, .v6: description
        }
    }
}

/// Opens a page in the desktop's browser, if there is a display, and a terminal in which somebody asked for it.
private func openInBrowser(_ url: String, environment: Environment) {
    let hasDisplay = ["DISPLAY", "WAYLAND_DISPLAY"].contains { environment($0)?.isEmpty == false }
    guard hasDisplay, isatty(STDOUT_FILENO) == 1 else { return }
    var attributes = posix_spawnattr_t()
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_init(&attributes)
    // The server's signals are blocked in its threads, and must not be blocked in a browser.
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    var process = pid_t()
    let words = ["sh", "-c", #"exec xdg-open "$0" >/dev/null 2>&1"#, url]
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    let status = posix_spawnp(&process, "sh", nil, &attributes, &arguments, environ)
    for argument in arguments { free(argument) }
    posix_spawnattr_destroy(&attributes)
    guard status == 0 else { return }
    SystemThread.start(named: "browser") { [process] in _ = waitpid(process, nil, 0) }
}
