/// What an endpoint requires unless it is open to all.
enum Permission: Sendable {
    /// Operating the server: a key, or a program on this machine.
    case operate
    /// Work without a session: any key.
    case compute
    /// Listing sessions: a key, which sees those with its prefix.
    case list
    /// Reading a session.
    case read
    /// Editing a session, and with a key posting whole states.
    case edit
    /// Creating, replacing or deleting a session, or minting tokens for it.
    case write
}
