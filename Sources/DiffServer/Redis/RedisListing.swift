// Redis keeps its keys in no order. An index of names would have to be written with each new or deleted session, would
// miss expirations, and in a cluster would be in another slot than the sessions. So a listing scans all keys of each
// primary (SCAN), at the cost of a round trip per thousand keys: it is never out of date, and finds every session that
// exists throughout.

import DiffSessions
import DiffStores
import HTTPCore

/// Lists the sessions in a range, step by step.
struct RedisListing: Sendable {
    private let client: RedisClient
    private let range: SessionRange
    private let done: Completion<SessionPage>
    /// One key of each primary that is still to be scanned.
    private var primaries: [String]
    private var first: FirstNames

    init(_ range: SessionRange, at client: RedisClient, _ done: @escaping Completion<SessionPage>) {
        (self.client, self.range, self.done, first) = (client, range, done, FirstNames(range))
        primaries = client.topology.map.keys(client.keys.probe)
    }

    /// Scans the last primary from a cursor on, then the others; describes what was found.
    func scan(from cursor: String = "0") {
        guard let primary = primaries.last else { return describe() }
        let command = RedisCommand.scan(range.prefix, from: cursor, in: client.keys)
        client.send(command, about: .text(primary)) { result in
            switch result {
            case .failure(let failure): done(.failure(StoreFailure(failure)))
            case .success(let reply):
                guard let found = ScannedNames(reply, in: client.keys) else {
                    return done(.failure(.unavailable(ScannedNames.fault)))
                }
                var rest = self
                found.names.forEach { rest.first.insert($0) }
                if found.next == nil { rest.primaries.removeLast() }
                rest.scan(from: found.next ?? "0")
            }
        }
    }

    private func describe() {
        let (names, next) = first.page
        guard !names.isEmpty else { return done(.success(SessionPage(entries: [], next: nil))) }
        client.runEach(RedisScripts.describe, keys: names.map(client.keys.key)) { [done] answers in
            for case .failure(let failure) in answers { return done(.failure(StoreFailure(failure))) }
            let entries = zip(names, answers).compactMap { name, answer in
                (try? answer.get()).flatMap { SessionEntry(name, $0) }
            }
            done(.success(SessionPage(entries: entries, next: next)))
        }
    }
}

extension RedisCommand {
    /// The next step of a scan of one primary for the names with a prefix.
    static func scan(_ prefix: String, from cursor: String, in keys: RedisKeys) -> RedisCommand {
        // Names contain no characters that are special in a pattern.
        RedisCommand("SCAN", .text(cursor), "MATCH", .text(keys.start + prefix + "*}"), "COUNT", 1000)
    }
}

/// What a step of a scan found.
struct ScannedNames {
    let names: [String]
    /// Where the next step begins; nil after the last one.
    let next: String?

    static let fault = "its list of keys cannot be read"

    init?(_ reply: RedisReply, in keys: RedisKeys) {
        guard let parts = reply.elements, parts.count == 2, let cursor = parts[0].text, let found = parts[1].elements
        else { return nil }
        names = found.compactMap { $0.text.flatMap(keys.session) }
        next = cursor == "0" ? nil : cursor
    }
}

extension SessionEntry {
    /// Parses the answer of `RedisScripts.describe`; nil if the session is gone or cannot be described.
    fileprivate init?(_ name: String, _ reply: RedisReply) {
        guard let parts = reply.elements, parts.count == 3, let revision = parts[0].text, Revision(revision) != nil,
            let figures = parts[1].text?.split(separator: " ").prefix(2).compactMap({ Int($0) }),
            figures.count == 2, figures.allSatisfy({ $0 >= 0 }), case .integer(let left) = parts[2]
        else { return nil }
        self.init(
            name: name, revision: revision, rows: figures[0], bytes: figures[1],
            expires: WallTime.after(.milliseconds(max(0, left))))
    }
}
