import DiffService
import FoundationEssentials

/// The program of this process.
package enum Program {
    /// Carries out the command line.
    ///
    /// - Parameter parts: what this executable has beside the service; nil for nothing.
    package static func run(with parts: (any Parts.Type)?) {
        // Swift reads the arguments from /proc/self/cmdline. Without /proc there are none, not even the program's name,
        // and a server that was given a key would start without one.
        if CommandLine.arguments.isEmpty { fail("the arguments cannot be read: /proc is not mounted", status: 2) }
        let variables = ProcessInfo.processInfo.environment
        do throws(UsageError) {
            switch try Command(Array(CommandLine.arguments.dropFirst()), parts, environment: { variables[$0] }) {
            case .serve(var options):
                options.warnings += Options.misspelt(variables.keys)
                if options.checksOnly { ServeCheck.run(options) }
                Serve.run(options)
            case .diff(let diff): diff.run()
            case .key(let name): KeyCommand.run(name: name)
            case .token(let token): token.run()
            case .healthCheck(let options): HealthCheck.run(options)
            case .added(let command): try command.run { variables[$0] }
            case .help(let topic): print(lines: String(Help(parts: parts).text(of: topic).dropLast()))
            case .completion(let shell): print(Completion(parts: parts).script(for: shell), terminator: "")
            case .version: print("diffserver \(Version.text)")
            }
        } catch { fail(error, status: 2) }
    }
}
