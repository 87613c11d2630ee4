import DiffSessions
import SnapshotKit

/// Server-sent events (the HTML standard, §9.2).
package enum Event {
    /// How long clients wait before they reconnect, in milliseconds.
    private static let delay = 1000

    /// The beginning of a stream: the delay before a reconnect, and the revision to resume from, empty for none.
    static func primer(_ id: String) -> [UInt8] {
        Array((id.isEmpty ? "retry: \(delay)\n\n" : "retry: \(delay)\n\nid: \(id)\n\n").utf8)
    }

    /// Tells the reader a newer revision that shows it the same.
    static func moved(_ id: String) -> [UInt8] { Array("id: \(id)\n\n".utf8) }

    /// A comment, so that proxies do not consider the stream dead.
    static let heartbeat = Array(": \n\n".utf8)

    /// A comment, for a person: nothing else on a stream tells a misspelt session from one that has yet to come.
    static func missing(_ session: String) -> [UInt8] {
        Array(": there is no session \"\(session)\" yet; this stream waits for it\n\n".utf8)
    }

    /// The lines before the `data` of an event on a stream of several sessions.
    static func begin(_ cursor: String) -> [UInt8] {
        Array((cursor.isEmpty ? "event: changes\n" : "event: changes\nid: \(cursor)\n").utf8)
    }

    /// Writes an event of a single session's stream, up to its JSON. A reconnect resumes from `base`.
    static func begin(_ base: Revision?, _ writer: inout JSONWriter) {
        writer.append("event: changes\n")
        if let base {
            writer.append("id: ")
            writer.append(verbatim: base.text)
            writer.append("\n")
        }
        writer.append("data: ")
    }

    /// Ends an event, and joins the lines of its JSON from `start` on: line breaks there can only be white space.
    static func ended(_ event: consuming [UInt8], jsonFrom start: Int = 0) -> [UInt8] {
        if event[start...].contains(0x0A) || event[start...].contains(0x0D) {
            event = event[..<start] + event[start...].filter { $0 != 0x0A && $0 != 0x0D }
        }
        event.append(contentsOf: [0x0A, 0x0A])
        return event
    }

    /// The last event, with the reason. All readers of a closing server come back, so each gets a random delay.
    static func end(_ problem: Problem, instance: String) -> [UInt8] {
        let ownDelay = Int.random(in: delay / 2...delay / 2 * 3)
        let retry = problem.type == .draining ? "retry: \(ownDelay)\n" : ""
        let start = Array("\(retry)event: end\ndata: ".utf8)
        return ended(start + problem.json(instance: instance), jsonFrom: start.count)
    }
}
