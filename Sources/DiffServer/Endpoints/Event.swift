import SnapshotKit

/// Server-sent events (the HTML standard, §9.2).
enum Event {
    /// What a stream begins with: how soon to come back, and the reader's own revision, so that a reconnect resumes
    /// from it.
    ///
    /// - Parameter id: empty where there is nothing to resume from.
    static func primer(_ id: String) -> [UInt8] {
        Array((id.isEmpty ? "retry: 1000\n\n" : "retry: 1000\n\nid: \(id)\n\n").utf8)
    }

    /// Where a reader is by now though nothing that it shows has changed.
    static func moved(_ id: String) -> [UInt8] { Array("id: \(id)\n\n".utf8) }

    /// A comment, so that nobody between takes the stream for dead.
    static let heartbeat = Array(": \n\n".utf8)

    /// What begins an event of a stream of several sessions, before its `data`.
    static func begin(_ cursor: String) -> [UInt8] {
        Array((cursor.isEmpty ? "event: changes\n" : "event: changes\nid: \(cursor)\n").utf8)
    }

    /// What stands before the JSON of a changeset or a reset on a stream of one session.
    ///
    /// - Parameter base: where the reader is with it, and goes on from when it comes back; nil for one that is nowhere.
    static func begin(_ base: Revision?, _ writer: inout JSONWriter) {
        writer.append("event: changes\n")
        if let base {
            writer.append("id: ")
            writer.append(verbatim: base.text)
            writer.append("\n")
        }
        writer.append("data: ")
    }

    /// An event whose JSON, which begins at an offset, is put on one line, and its end: line ends can only be white
    /// space there.
    static func ended(_ event: consuming [UInt8], jsonFrom start: Int = 0) -> [UInt8] {
        if event[start...].contains(0x0A) || event[start...].contains(0x0D) {
            event = event[..<start] + event[start...].filter { $0 != 0x0A && $0 != 0x0D }
        }
        event.append(contentsOf: [0x0A, 0x0A])
        return event
    }

    /// The end, and why.
    static func end(_ problem: Problem, instance: String) -> [UInt8] {
        let start = Array("event: end\ndata: ".utf8)
        return ended(start + problem.json(instance: instance), jsonFrom: start.count)
    }
}
