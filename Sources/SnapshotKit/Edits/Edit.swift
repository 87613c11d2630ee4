// An edit as read: what to do, to what, and where. Ids, contents and kinds are ranges of the batch's bytes.

/// What an edit does.
public enum EditOperation: String, CaseIterable, Sendable {
    case insert, delete, move, update, reload, reconfigure, expand, collapse, clear

    /// Whether the operands are put somewhere, so that an edit may say where.
    var places: Bool { self == .insert || self == .move }
}

/// One edit of a batch.
struct Edit {
    typealias Operation = EditOperation

    /// What the operands are.
    enum Subject: String {
        case items, sections
    }

    /// A value of `at`.
    enum End: String, CaseIterable {
        case start, end
    }

    var operation: Operation
    /// Nil where a `clear` names nothing and means all sections.
    var subject: Subject?
    /// Indexes into the batch: into its nodes or sections for `insert`, its updates for `update`, else its ids.
    var operands = 0..<0
    var destination = Destination.at(.end)

    /// Where the operands are put.
    enum Destination {
        /// The start or the end: of the sections; for items, of the first or the last section.
        case at(End)
        case before(EditID)
        case after(EditID)
        case into(Parent, End)
    }

    /// What items are put into.
    struct Parent {
        let id: EditID
        /// What has the id; nil if it may be either.
        let subject: Subject?
    }
}

/// An id in the batch's bytes.
struct EditID {
    var start: UInt32
    var count: UInt16
    var hash: UInt32
}

extension EditID {
    /// The id of a record of the batch.
    init(_ record: some IdentifiedRecord) {
        self.init(start: record.idStart, count: record.idCount, hash: record.hash)
    }
}

/// What an `update` changes about one item or section; nil for what it leaves as it is.
struct EditUpdate {
    var id: EditID
    var content: Range<UInt32>?
    /// Where the kind's quote stands.
    var kindStart: UInt32?
    var isExpanded: Bool?
}
