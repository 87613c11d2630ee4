/// What an endpoint needs.
enum Permission: Sendable {
    /// Nothing: open to all.
    case none
    /// Nothing, and however often: who asks decides by the answer whether to restart the process, or to send it work.
    case probe
    /// A key, or to be on this machine.
    case operate
    /// A key that is good for any session.
    case compute
    /// To read one session.
    case read
    /// To write one session: edits, and with a key whole states.
    case edit
    /// To make, replace or delete one session, or mint tokens for it.
    case write

    /// Whether it is asked of nobody who they are.
    var isPublic: Bool {
        switch self {
        case .none, .probe: true
        case .operate, .compute, .read, .edit, .write: false
        }
    }
}
