// A node that revokes tokens records this, and publishes it. A message may be lost, so the set of revocations has a
// version, each message names the version it follows, and a node that missed one reads the whole set. Reads and writes
// of sessions compare the version too, so no node answers from a stale set. In a cluster they cannot, since the set may
// be on another primary; there a node may lag by the time a message takes.

import DiffStores
import HTTPCore

/// This node's copy of the revocations in Redis.
final class RedisRevocations: Sendable {
    private let known: Revocations
    private let client: RedisClient
    /// The known version; nil before the set was first read.
    private let version = Locked<String?>(nil)
    private let readings = SharedLoads<String, Void>()

    private let key: RedisArgument
    /// A version that no set has.
    static let unknown = "?"

    init(_ known: Revocations, _ client: RedisClient) {
        (self.known, self.client, key) = (known, client, .text(client.keys.revoked))
    }

    /// Whether the set has been read since the start.
    var areKnown: Bool { version.withLock { $0 != nil } }

    private var database: Int { client.topology.dialer.address.database }

    /// The known version, for a session's script to compare.
    var knownVersion: RedisArgument { .text(version.withLock { $0 } ?? Self.unknown) }

    /// The keys of a script that compares versions. In a cluster none can: the set may be on another primary.
    func keys(with session: RedisArgument) -> [RedisArgument] {
        client.topology.isCluster ? [session] : [session, key]
    }

    func add(_ session: String, upTo moment: Int, _ done: @escaping Completion<Void>) {
        let (arguments, version) = Self.arguments((session, moment), in: database)
        client.ask(RedisScripts.revoke, keys: [key], arguments, isWrite: true, done) { [self] reply in
            take(session, upTo: moment, version: version, after: reply.text ?? "")
            return .success(())
        }
    }

    /// The arguments of `RedisScripts.revoke`, and the new version among them.
    static func arguments(
        _ revocation: Revocations.Moment, in database: Int
    ) -> (arguments: [RedisArgument], version: String) {
        let (session, moment) = revocation
        let version = String(Int.random(in: 1..<RedisScripts.firstMoment))
        let arguments: [RedisArgument] = [
            .text(session), .number(moment), .number(moment - Revocations.life), .text(version),
            .number(Revocations.life), .number(database),
        ]
        return (arguments, version)
    }

    func receive(_ message: [UInt8]) {
        let words = String(decoding: message, as: UTF8.self)
            .split(separator: " ", maxSplits: 4, omittingEmptySubsequences: false)
        guard words.count == 5, Int(words[0]) == database, let moment = Int(words[3]) else { return }
        take(String(words[4]), upTo: moment, version: String(words[2]), after: String(words[1]))
    }

    private func take(_ session: String, upTo moment: Int, version: String, after before: String) {
        known.add(session, upTo: moment)
        let hasMissed = self.version.withLock { known in
            if known == before { known = version }
            return known != version
        }
        if hasMissed { refresh { _ in } }
    }

    /// Reads the set, unless the known version is the latest. Simultaneous callers share one read.
    func refresh(_ done: @escaping Completion<Void>) {
        guard readings.join("", done) else { return }
        client.run(RedisScripts.revoked, keys: [key], [knownVersion]) { [self] result in
            let health = client.topology.dialer.health
            switch result {
            case .success: health.recover(.revocations)
            // Without the set no session is read or written.
            case .failure(.refused(let error)): health.fail(.revocations, because: "redis: \(error.text)")
            case .failure: break
            }
            let adopted = result.mapError { StoreFailure($0) }.flatMap(adopt)
            for done in readings.removeAll(for: "") { done(adopted) }
        }
    }

    private func adopt(_ reply: RedisReply) -> Result<Void, StoreFailure> {
        if reply == .array([]) { return .success(()) }
        guard let found = FoundRevocations(reply) else { return .failure(.unavailable(FoundRevocations.fault)) }
        for (session, moment) in found.moments { known.add(session, upTo: moment) }
        version.withLock { $0 = found.version }
        return .success(())
    }
}

/// The answer of `RedisScripts.revoked` with the whole set.
struct FoundRevocations {
    let version: String
    let moments: [Revocations.Moment]

    static let fault = "its revocations cannot be read"

    init?(_ reply: RedisReply) {
        guard let parts = reply.elements, parts.count == 2, let version = parts[0].text, let members = parts[1].elements
        else { return nil }
        self.version = version
        moments = stride(from: 0, to: members.count - 1, by: 2).compactMap { index in
            guard let session = members[index].text, !session.isEmpty,
                let moment = members[index + 1].text.flatMap({ Double($0) })
            else { return nil }
            return (session, Int(min(max(moment.isNaN ? 0 : moment, -1e15), 1e15)))
        }
    }
}
