import DiffService
import HTTPCore

/// What the full server has beside the service: stores other than the memory, and lists that fetch themselves. A server
/// without parts refuses by its name what needs them.
package protocol Parts: Sendable {
    static var commands: [any Subcommand.Type] { get }
    /// Where `--store` says that sessions live; nil if it is no address.
    static func store(_ text: String) -> (any StoreAddress)?
    /// Reads a file of lists. Errors say why it cannot be read, or have a line for each fault, with its position.
    static func lists(in path: String, environment: @escaping Environment) throws(UsageError) -> any Lists
}

/// A command with options of its own.
package protocol Subcommand: CommandOptions {
    static func help(_ help: Help) -> String
    mutating func take(_ arguments: [String], environment: @escaping Environment) throws(UsageError)
    func run(environment: @escaping Environment) throws(UsageError) -> Never
}

/// The lists of a file, for `--lists`.
package protocol Lists: Sendable {
    var count: Int { get }
    /// What the process lacks to fetch them, as in "needs libcurl"; nil for nothing.
    var fault: String? { get }
    /// Gives them to a service. Returns the loop of the sources, the files of their secrets, and what goes on with the
    /// lists of a file, and says how many there are.
    func start(for service: DiffService, polling: Polling) throws(ListenError) -> RunningLists
}

package typealias RunningLists = (
    loop: EventLoop, secretFiles: () -> [String], replace: (_ path: String) throws(UsageError) -> Int
)
