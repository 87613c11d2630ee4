import DiffSessions
import DiffStores
import HTTPCore

/// Revokes all tokens of a session that were made before now, on all nodes of the store, and ends their streams and
/// held requests.
enum DeleteTokens {
    @Sendable
    static func answer(_ call: Call) throws(Problem) -> Reply {
        guard call.service.table.revocations.hasRoom(for: call.session) else {
            throw Problem(
                .capacity, "the tokens of too many sessions were revoked in the last seven days",
                limit: Revocations.limit)
        }
        let progress = call.service.store.revokeTokens(of: call.session, upTo: WallTime.milliseconds, on: call.loop)
        return .later { pending in
            progress.whenDone { result in
                // A token that is minted after the answer is valid, so it must not be of the same millisecond.
                call.loop.schedule(after: .milliseconds(1)) {
                    call.answer(pending) { () throws(Problem) in
                        try call.get(result)
                        return .now(Response(status: 204))
                    }
                }
            }
        }
    }
}
