/// Why a batch of edits was refused. Whatever the reason, nothing of the batch was applied.
public enum EditError: Error, Equatable, Sendable {
    /// The text is not JSON.
    case json(JSONError)
    /// The batch is JSON, but breaks a rule that can be told without a state: every violation found.
    case wrongShape([Violation])
    /// An edit does not fit the state as the edits before it left it: every violation of the first such edit.
    ///
    /// Codes: `duplicate-id`, `unknown-id`, `ambiguous-id`, `anchor-not-found`, `anchor-in-batch`, `no-section`,
    /// `cycle`.
    case refused([Violation])
    /// The batch, or the state it would make, is larger than the limit. `what` is a phrase such as "items".
    case limitExceeded(what: String, limit: Int, actual: Int, pointer: String)
}
