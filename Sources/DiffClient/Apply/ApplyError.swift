/// Why a changeset cannot be applied to a list. The list is as it was.
///
/// Whatever the reason, a client does the same: it asks again, without a base, and replaces its list by the reset that
/// comes.
public struct ApplyError: Error, Equatable, Sendable {
    /// What sort of mistake it is.
    public enum Reason: String, Sendable, Equatable {
        /// The text is not JSON.
        case notJSON = "not-json"
        /// The JSON is not what the dialect writes.
        case wrongShape = "wrong-shape"
        /// Nothing in the list has the id.
        case unknownID = "unknown-id"
        /// Something in the list has the id already.
        case duplicateID = "duplicate-id"
        /// An index, or the number of operations, is beyond the list.
        case outOfRange = "out-of-range"
        /// Two operations of one batch have the same index.
        case namedTwice = "named-twice"
        /// An item operation falls into a section that is deleted, inserted or moved in the same stage.
        case insideChangingSection = "inside-changing-section"
        /// Operations that no view carries out reliably in one batch.
        case unsafeTogether = "unsafe-together"
        /// A stage's `counts` are not those of the list after it.
        case wrongCounts = "wrong-counts"
        /// There is no content that a patch could be applied to.
        case noContent = "no-content"
    }

    /// What sort of mistake it is.
    public let reason: Reason
    /// A sentence for people.
    public let detail: String
    /// Offset, in bytes, of the operation or value in the changes.
    public let offset: Int

    init(_ reason: Reason, _ detail: String, at offset: Int) {
        self.reason = reason
        self.detail = detail
        self.offset = offset
    }
}

extension ApplyError: CustomStringConvertible {
    /// Reason, detail and offset, for people.
    public var description: String { "\(reason.rawValue): \(detail) (at byte \(offset))" }
}
