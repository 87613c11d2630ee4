/// Why a changeset cannot be applied to a list. The list is unchanged.
///
/// Whatever the reason, a client asks again without a base revision, and replaces its list by the reset.
public struct ApplyError: Error, Equatable, Sendable {
    /// The kind of mistake.
    public enum Reason: String, Sendable, Equatable {
        /// The text is not JSON.
        case notJSON = "not-json"
        /// The JSON is not of the dialect.
        case wrongShape = "wrong-shape"
        /// Nothing in the list has the id.
        case unknownID = "unknown-id"
        /// The id is in the list already.
        case duplicateID = "duplicate-id"
        /// An index, or the number of operations, is beyond the list.
        case outOfRange = "out-of-range"
        /// Two operations of a batch have the same index.
        case namedTwice = "named-twice"
        /// An item operation is in a section that the same stage deletes, inserts or moves.
        case insideChangingSection = "inside-changing-section"
        /// Views do not carry out these operations reliably in one batch.
        case unsafeTogether = "unsafe-together"
        /// A stage's `counts` differ from the list after it.
        case wrongCounts = "wrong-counts"
        /// There is no content to apply a patch to.
        case noContent = "no-content"
    }

    /// The kind of mistake.
    public let reason: Reason
    /// A sentence for people.
    public let detail: String
    /// The byte offset of the operation or value in the changes.
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
