// Everything that a command says to a person goes through these functions, since it may hold names out of a document or
// an upstream's answer: an escape sequence in one must not reach the terminal. The first has the name of the standard
// library's function, which nothing in this module can call by accident, and elsewhere a line is taken by this one.

import CDiffSystem
import DiffService

package func print(_ line: String) { Swift.print(line.escaped) }

/// Prints text of this program, which has line breaks.
package func print(lines text: String) { for line in text.lines { print(line) } }

/// Writes one line to standard error, behind those of the log.
package func warn(_ line: String) { LogOutput.standardError.append(Array("\(line.escaped)\n".utf8)) }

/// Ends the process once its lines are written. Not by `exit`, which frees what other threads may be using.
package func end(_ status: Int32) -> Never {
    LogOutput.standardError.flush()
    _exit(status)
}

/// Ends the process with lines that are printed as they are.
package func end(_ status: Int32, saying lines: [String]) -> Never {
    lines.forEach(warn)
    end(status)
}

package func fail(_ message: String, status: Int32 = 1) -> Never { end(status, saying: ["diffserver: \(message)"]) }

/// Ends the process with a command line's fault, or with those of a file.
package func fail(_ error: UsageError, status: Int32) -> Never {
    if error.isLocated { end(status, saying: error.message.lines) }
    fail(error.message, status: status)
}

extension String {
    /// Whether an argument is a URL rather than a file.
    package var isURL: Bool {
        let start = prefix(8).lowercased()
        return start.hasPrefix("http://") || start.hasPrefix("https://")
    }

    package var lines: [String] { split(separator: "\n", omittingEmptySubsequences: false).map(String.init) }
}
