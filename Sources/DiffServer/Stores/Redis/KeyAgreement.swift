// All nodes of a Redis hash states with one key, which the first node puts there. Whoever empties Redis removes the key
// with the sessions, and the first node that notices puts its own there again. So the key in Redis is the one in force.
// Each commit compares it, and a node with another key adopts that one: it loses nothing, since the sessions of its own
// key are gone.

import HTTPCore
import SnapshotKit

/// The key of the digests on which this node and Redis agree.
final class KeyAgreement: Sendable {
    private struct State {
        /// Nil before the first answer, or if Redis has another key than the operator's.
        var key: String?
        var hash: KeyedHash
    }

    /// The operator's key.
    private let given: String?
    private let proposal: String
    private let client: RedisClient
    private let state: Locked<State>

    init(_ given: String?, _ client: RedisClient) {
        (self.given, self.client) = (given, client)
        proposal = given ?? StoreAddress.newDigestKey()
        state = Locked(State(key: nil, hash: .digests(proposal)))
    }

    /// The key and its hash; nil while nodes have not agreed.
    var found: (key: String, hash: KeyedHash)? {
        state.withLock { state in state.key.map { ($0, state.hash) } }
    }

    /// Whether nodes have agreed on a key.
    var holds: Bool { found != nil }

    /// The hash with the key; other nodes cannot use its digests unless the agreement `holds`.
    var hash: KeyedHash { state.withLock { $0.hash } }

    /// Asks for the first time, and waits for the answer.
    ///
    /// - Returns: why there can never be an agreement, as far as that is known.
    func settled() -> String? {
        let result = Progress.of(ask).wait()
        take(result)
        switch result {
        case .success where !holds: return Self.otherKey
        case .failure(.denied(let reason)): return reason
        default: return nil
        }
    }

    /// Asks again.
    ///
    /// - Parameter done: told whether this node has adopted another key than it had.
    func renew(_ done: @escaping @Sendable (_ hasChanged: Bool) -> Void) { ask { [self] in done(take($0)) } }

    private var health: StoreHealth { client.topology.dialer.health }

    private static let otherKey = "in use with a different --digest-key"

    private func ask(_ done: @escaping RedisClient.Completion) {
        let proposal = found?.key ?? proposal
        client.run(RedisScripts.agree, keys: [RedisArgument(RedisScripts.digestKey)], [RedisArgument(proposal)], done)
    }

    @discardableResult
    private func take(_ result: Result<RedisReply, RedisFailure>) -> Bool {
        switch result {
        case .failure(let failure):
            // The agreement holds until a commit finds otherwise.
            if !holds { health.fail(.key, because: "redis: \(failure)") }
            return false
        case .success(let reply):
            guard let found = reply.text, given == nil || given == found else {
                let reason = reply.text == nil ? "its \(RedisScripts.digestKey) is not a string" : Self.otherKey
                state.withLock { $0.key = nil }
                health.fail(.key, because: "redis: \(reason)")
                return false
            }
            health.recover(.key)
            return state.withLock { state in
                defer { state = State(key: found, hash: state.key == found ? state.hash : .digests(found)) }
                return state.key != nil && state.key != found
            }
        }
    }
}
