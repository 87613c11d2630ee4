import HTTPCore

/// Takes a session away; that it was gone already is no error.
struct DeleteSession: SessionEndpoint {
    private let condition: WriteCondition

    init(_ call: Call) { condition = WriteCondition(call) }

    func operation(_ body: consuming [UInt8]) -> RemoveSession { RemoveSession(condition: condition) }

    func reply(_ outcome: Void, in slot: SessionSlot?) -> Reply { .now(Response(status: 204)) }
}
