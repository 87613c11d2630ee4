/// Server-sent events (the HTML standard, §9.2).
enum Event {
    /// What a stream begins with: how soon to come back, and the reader's own revision, so that a reconnect resumes from it.
    static func primer(_ revision: Revision?) -> [UInt8] {
        Array("retry: 1000\n\n".utf8) + (revision.map { Array("id: \($0.text)\n\n".utf8) } ?? [])
    }

    /// A comment, so that nobody between takes the stream for dead.
    static let heartbeat = Array(": \n\n".utf8)

    /// One changeset or reset.
    static func changes(_ json: [UInt8], to revision: Revision?) -> [UInt8] {
        Array("event: changes\nid: \(revision?.text ?? "")\n".utf8) + data(json)
    }

    /// The end, and why.
    static func end(_ problem: Problem, instance: String) -> [UInt8] {
        Array("event: end\n".utf8) + data(problem.json(instance: instance))
    }

    /// JSON on one line: line ends can only be white space there.
    private static func data(_ json: [UInt8]) -> [UInt8] {
        var event = Array("data: ".utf8)
        event.reserveCapacity(json.count + 8)
        if json.contains(0x0A) || json.contains(0x0D) {
            event.append(contentsOf: json.lazy.filter { $0 != 0x0A && $0 != 0x0D })
        } else {
            event.append(contentsOf: json)
        }
        event.append(contentsOf: [0x0A, 0x0A])
        return event
    }
}
