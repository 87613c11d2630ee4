/// What an endpoint needs that is not open to all.
enum Permission: Sendable {
    /// A key, or to be on this machine.
    case operate
    /// A key that is good for any session.
    case compute
    /// To see which sessions there are: a key, which sees those that it is good for.
    case list
    /// To read one session.
    case read
    /// To write one session: edits, and with a key whole states.
    case edit
    /// To make, replace or delete one session, or mint tokens for it.
    case write
}
