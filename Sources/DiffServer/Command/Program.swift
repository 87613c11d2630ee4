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
        do throws(UsageError) {
            let words = Array(CommandLine.arguments.dropFirst())
            try command(words, parts, ProcessInfo.processInfo.environment)()
        } catch { fail(error, status: 2) }
    }
}
