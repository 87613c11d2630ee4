import DiffService
import FoundationEssentials

/// The program of this process.
package enum Program {
    /// Carries out the command line, with what this executable has beside the service.
    package static func run(with parts: (any Parts.Type)?) {
        // Swift reads the arguments from /proc/self/cmdline. Without /proc there are none, not even the program's name,
        // and a server that was given a key would start without one.
        if CommandLine.arguments.isEmpty { fail("the arguments cannot be read: /proc is not mounted", status: 2) }
        do throws(UsageError) {
            let words = Array(CommandLine.arguments.dropFirst())
            try command(words, parts, ProcessInfo.processInfo.environment)()
        } catch { fail(error, status: 2) }
    }

    /// What a command line (without the program's name) asks for, to be run. Flags win over variables.
    static func command(
        _ arguments: [String], _ parts: (any Parts.Type)?, _ variables: [String: String]
    ) throws(UsageError) -> () throws(UsageError) -> Void {
        let topic = try topic(arguments)
        if parts == nil, let topic = topic ?? arguments.first.flatMap(Help.Topic.init), topic.isAdded {
            throw .needsParts(topic.rawValue)
        }
        if let topic { return { print(lines: String(Help(parts: parts).text(of: topic).dropLast())) } }
        let (name, rest) = (arguments.first ?? "serve", Array(arguments.dropFirst()))
        let environment: Environment = { variables[$0] }
        let defaults = Options(parts)
        switch name {
        case "version", "--version", "-V": return { print("diffserver \(Version.text)") }
        case _ where name == "serve" || name.hasPrefix("--"):
            let words = name == "serve" ? rest : arguments
            var options = try defaults.reading(words, environment).checked(environment: environment)
            options.warnings += Options.misspelt(variables.keys)
            return { [options] in if options.checksOnly { ServeCheck.run(options) } else { Serve.run(options) } }
        case "key": return { [name = try KeyCommand.name(rest)] in KeyCommand.run(name: name) }
        case "healthcheck":
            return { [options = try HealthCheck.options(rest, environment, defaults)] in HealthCheck.run(options) }
        case "completion":
            return { [shell = try Completion.Shell(rest)] in
                print(Completion(parts: parts).script(for: shell), terminator: "")
            }
        default:
            guard var command = Help(parts: parts).commands.first(where: { $0.topic.rawValue == name })?.init() else {
                throw UsageError("unknown command \"\(name)\"; see diffserver help")
            }
            try command.take(rest, environment: environment)
            return { [command] () throws(UsageError) in try command.run(environment: environment) }
        }
    }

    /// The help requested, by `help` or by a flag anywhere.
    private static func topic(_ arguments: [String]) throws(UsageError) -> Help.Topic? {
        if arguments.first == "help" {
            guard let name = arguments.dropFirst().first else { return .overview }
            if let topic = Help.Topic(rawValue: name) { return topic }
            throw UsageError("unknown command \"\(name)\"; see diffserver help")
        }
        guard let index = arguments.firstIndex(where: { $0 == "--help" || $0 == "-h" }) else { return nil }
        if index == 0 { return .overview }
        return Help.Topic(rawValue: arguments[0]) ?? (arguments[0].hasPrefix("--") ? .serve : .overview)
    }
}

extension Options {
    /// The defaults. Sessions take at most half of the control group's memory.
    package init(_ parts: (any Parts.Type)?, in group: ControlGroup = ControlGroup()) {
        self.init()
        self.parts = parts
        if let limit = group.memoryLimit { tableBounds.bytes = min(tableBounds.bytes, limit / 2) }
    }

    /// These with what the arguments of `serve` and the environment say.
    func reading(_ arguments: [String], _ environment: Environment) throws(UsageError) -> Options {
        var options = self
        let others = try options.read(arguments, environment, server: \.self)
        if let other = others.first { throw UsageError("\"\(other)\" is not an option; \(Self.topic.pointer)") }
        return options
    }
}
