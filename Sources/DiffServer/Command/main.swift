// The executable: the command line, its options and help, and `diffserver serve`, which opens the store, joins the
// service with its lists, and starts and ends the server. It knows all targets of the server, and none knows it.

import DiffService
import FoundationEssentials

// Swift reads the arguments from /proc/self/cmdline. Without /proc there are none, not even the program's name, and a
// server that was given a key would start without one.
if CommandLine.arguments.isEmpty { fail("the arguments cannot be read: /proc is not mounted", status: 2) }

do throws(UsageError) {
    let variables = ProcessInfo.processInfo.environment
    switch try Command(Array(CommandLine.arguments.dropFirst()), environment: { variables[$0] }) {
    case .serve(var options):
        options.warnings += Options.misspelt(variables.keys)
        if options.checksOnly { ServeCheck.run(options) }
        Serve.run(options)
    case .diff(let diff): diff.run()
    case .key(let name): KeyCommand.run(name: name)
    case .token(let token): token.run()
    case .healthCheck(let options): HealthCheck.run(options)
    case .checkLists(let check): check.run { variables[$0] }
    case .shape(let shape): try shape.run { variables[$0] }
    case .watch(let watch): try watch.run { variables[$0] }
    case .help(let topic): print(lines: String(Help.text(of: topic).dropLast()))
    case .version: print("diffserver \(Version.text)")
    }
} catch {
    if error.hasPlaces { end(2, saying: error.message.lines) }
    fail(error.message, status: 2)
}
