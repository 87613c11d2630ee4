import DiffSessions
import DiffStores
import HTTPCore

/// Deletes a session, if there is one.
struct DeleteSession: SessionEndpoint {
    private let condition: WriteCondition

    init(_ call: Call) { condition = WriteCondition(call) }

    func operation(_ body: consuming [UInt8]) -> RemoveSession { RemoveSession(condition: condition) }

    func reply(_ outcome: Void, in slot: SessionSlot?) -> Reply { .now(Response(status: 204)) }
}
