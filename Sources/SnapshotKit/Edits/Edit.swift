// An edit as it was read: what to do, to what, and where. Ids, contents and kinds are ranges of the batch's bytes.

/// What an edit does.
public enum EditOperation: String, CaseIterable, Sendable {
    case insert, delete, move, update, reload, reconfigure, expand, collapse, clear

    /// Whether the operands arrive somewhere, so that the edit may say where.
    var places: Bool { self == .insert || self == .move }
}

/// One edit of a batch.
struct Edit {
    typealias Operation = EditOperation

    /// What the operands are.
    enum Subject: String {
        case items, sections
    }

    /// What `at` may be.
    enum End: String, CaseIterable {
        case start, end
    }

    var operation: Operation
    /// Nil where a `clear` names nothing and means all sections.
    var subject: Subject?
    /// Indexes into the batch: for `insert` of its nodes or its sections, for `update` of its updates, else of its ids.
    var operands = 0..<0
    var place = Place.unsaid

    /// Where operands arrive.
    enum Place {
        case unsaid
        /// The start of the sections, or of the first one.
        case start
        /// The end of the sections, or of the last one.
        case end
        case before(EditID)
        case after(EditID)
        case into(Parent, atStart: Bool)
    }

    /// What items arrive in.
    enum Parent {
        case section(EditID)
        case item(EditID)
        /// Whichever of the two has the id.
        case either(EditID)
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

/// What an `update` says of one item or section; nil where it says nothing.
struct EditUpdate {
    var id: EditID
    var content: Range<UInt32>?
    /// Where the kind's quote stands.
    var kindStart: UInt32?
    var isExpanded: Bool?
}
