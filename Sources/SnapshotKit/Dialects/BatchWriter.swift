// A batch is what `indexed` is, and each stage of `staged`: an object with `sections` and `items`, each with up to four
// lists of operations on indexes. Lists, and objects, that would be empty are left out.

/// Writes a batch, list by list.
struct BatchWriter {
    enum Group: Int {
        case sections, items

        var name: StaticString { self == .sections ? "\"sections\":{" : "\"items\":{" }
    }

    enum Operation: Int {
        case deleted, inserted, moved, updated

        var name: StaticString {
            switch self {
            case .deleted: "\"deleted\":["
            case .inserted: "\"inserted\":["
            case .moved: "\"moved\":["
            case .updated: "\"updated\":["
            }
        }
    }

    private var group: Group?
    private var operation: Operation?
    private var isEmpty: Bool

    /// `follows`: the object has other members already.
    init(follows: Bool) { isEmpty = !follows }

    /// Whether nothing was listed so far.
    var wroteNothing: Bool { group == nil }

    /// Starts the next element of a list; calls come in the order of groups and operations.
    mutating func next(_ group: Group, _ operation: Operation, _ writer: inout JSONWriter) {
        if self.group != group {
            close(&writer)
            if !isEmpty { writer.append(byte: UInt8(ascii: ",")) }
            isEmpty = false
            writer.append(group.name)
            writer.append(operation.name)
        } else if self.operation != operation {
            writer.append("],")
            writer.append(operation.name)
        } else {
            writer.append(byte: UInt8(ascii: ","))
        }
        (self.group, self.operation) = (group, operation)
    }

    /// Ends the list and the group that are open.
    mutating func close(_ writer: inout JSONWriter) {
        if group != nil { writer.append("]}") }
    }
}

// MARK: Sections

extension ChangesetView {
    func listDeletedSections(_ batch: inout BatchWriter, _ writer: inout JSONWriter) {
        for section in old.sections.indices where isGone(oldSection: section) {
            batch.next(.sections, .deleted, &writer)
            writer.append(section)
        }
    }

    /// - Parameter append: writes the section, with its rows or without.
    func listInsertedSections(
        _ batch: inout BatchWriter, _ writer: inout JSONWriter, _ append: (Int, inout JSONWriter) -> Void
    ) {
        for section in new.sections.indices where isNew(section: section) {
            batch.next(.sections, .inserted, &writer)
            writer.emit("{\"at\":", section, ",\"section\":")
            append(section, &writer)
            writer.append(byte: UInt8(ascii: "}"))
        }
    }

    /// - Parameter from: where an old section stands right before the batch.
    func listMovedSections(_ batch: inout BatchWriter, _ writer: inout JSONWriter, from: (Int) -> Int) {
        for section in new.sections.indices where !isNew(section: section) && !stays(section: section) {
            batch.next(.sections, .moved, &writer)
            writer.emit("{\"from\":", from(oldSection(of: section)))
            writer.emit(",\"to\":", section, "}")
        }
    }

    /// - Parameter namesBoth: whether an update says its index before, too.
    func listUpdatedSections(_ batch: inout BatchWriter, _ writer: inout JSONWriter, namesBoth: Bool) {
        for section in new.sections.indices where isUpdated(section: section) {
            batch.next(.sections, .updated, &writer)
            if namesBoth {
                writer.emit("{\"from\":", oldSection(of: section), ",\"at\":")
            } else {
                writer.append("{\"at\":")
            }
            writer.append(section)
            writer.append(",\"section\":")
            append(updatedSection: section, to: &writer)
            writer.append(redraw(section: section).member)
            writer.append(byte: UInt8(ascii: "}"))
        }
    }
}

// MARK: Rows

extension ChangesetView {
    func list(deletedRow oldRow: Int, _ batch: inout BatchWriter, _ writer: inout JSONWriter) {
        batch.next(.items, .deleted, &writer)
        append(oldPath: oldRow, to: &writer)
    }

    func list(insertedRow row: Int, _ batch: inout BatchWriter, _ writer: inout JSONWriter) {
        batch.next(.items, .inserted, &writer)
        writer.append("{\"at\":")
        append(path: row, to: &writer)
        writer.append(",\"item\":")
        append(row: row, to: &writer)
        writer.append(byte: UInt8(ascii: "}"))
    }

    /// - Parameter from: writes where an old row stands right before the batch.
    func list(
        movedRow row: Int, _ batch: inout BatchWriter, _ writer: inout JSONWriter, from: (Int, inout JSONWriter) -> Void
    ) {
        batch.next(.items, .moved, &writer)
        writer.append("{\"from\":")
        from(oldRow(of: row), &writer)
        writer.append(",\"to\":")
        append(path: row, to: &writer)
        writer.append(byte: UInt8(ascii: "}"))
    }

    /// - Parameter namesBoth: whether an update says where the row is after the batch, too.
    func list(updatedRow row: Int, _ batch: inout BatchWriter, _ writer: inout JSONWriter, namesBoth: Bool) {
        batch.next(.items, .updated, &writer)
        writer.append(namesBoth ? "{\"from\":" : "{\"at\":")
        append(oldPath: oldRow(of: row), to: &writer)
        if namesBoth {
            writer.append(",\"at\":")
            append(path: row, to: &writer)
        }
        writer.append(",\"item\":")
        append(updatedRow: row, to: &writer)
        writer.append(redraw(row: row).member)
        writer.append(byte: UInt8(ascii: "}"))
    }

    func append(oldPath row: Int, to writer: inout JSONWriter) {
        let path = old.indexPath(ofRow: row)
        writer.append(path: path.section, path.row)
    }

    private func append(path row: Int, to writer: inout JSONWriter) {
        let path = new.indexPath(ofRow: row)
        writer.append(path: path.section, path.row)
    }
}
