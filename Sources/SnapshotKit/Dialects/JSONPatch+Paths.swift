// Where things are right now: the path to an element asks one array a level.

extension JSONPatch {
    /// Starts an operation, up to the quote of its first pointer.
    mutating func begin(_ operation: StaticString, member: StaticString = "path") {
        list.separate(&writer)
        writer.append("{\"op\":\"")
        writer.append(operation)
        writer.append("\",\"")
        writer.append(member)
        writer.append("\":\"")
    }

    /// Makes a path the place that operations speak of.
    mutating func goTo(_ path: (inout JSONPatch) -> Void) {
        let start = position
        path(&self)
        place.truncate(to: 0)
        place.append(writer, from: start.count)
        withdraw(to: start)
    }

    /// Runs `body` at a place inside the present one.
    mutating func inside(_ name: (inout JSONWriter) -> Void, _ body: (inout JSONPatch) -> Void) {
        let length = place.count
        name(&place)
        body(&self)
        place.truncate(to: length)
    }

    /// Forgets everything after a position that `begin` was called at.
    mutating func withdraw(to start: (count: Int, list: JSONList)) {
        writer.truncate(to: start.count)
        list = start.list
    }

    /// Where the next operation starts.
    var position: (count: Int, list: JSONList) { (writer.count, list) }

    /// The path of an array of the new document, as it is now.
    mutating func appendPath(_ array: DocumentArray) {
        switch array {
        case .sections: writer.append("/sections")
        case .section(let section):
            appendPath(section: section)
            writer.append("/items")
        case .item(let item):
            appendPath(item: item)
            writer.append("/items")
        }
    }

    mutating func appendPath(section: Int) {
        writer.emit("/sections/", trackers[.sections]?.index(ofFinal: section) ?? section)
    }

    /// The path of an item of the new document that is in the document by now.
    mutating func appendPath(item: Int) {
        let array = newTree.array(of: item, changeset.new)
        let ordinal = newTree.ordinals[item]
        guard let tracker = trackers[array] else {
            appendPath(array)
            return append(index: ordinal)
        }
        let isInPlace = ordinal < tracker.placed || itemStays[item] || partner(item) < 0
        if isInPlace {
            appendPath(array)
            append(index: tracker.index(ofFinal: ordinal))
        } else {
            appendPath(lostItem: partner(item))
        }
    }

    mutating func append(index: Int) {
        writer.emit("/", index)
    }

    /// The path of an old array, wherever it is now.
    mutating func appendPath(lost array: DocumentArray) {
        if let array = new(array) { return appendPath(array) }
        switch array {
        case .sections: writer.append("/sections")
        case .section(let section):
            writer.emit("/sections/", trackers[.sections]!.index(ofLeaver: section), "/items")
        case .item(let item):
            appendPath(lostItem: item)
            writer.append("/items")
        }
    }

    /// The path of an old item that still stands in its old array.
    private mutating func appendPath(lostItem oldItem: Int) {
        let source = oldTree.array(of: oldItem, changeset.old)
        let ordinal = oldTree.ordinals[oldItem]
        appendPath(lost: source)
        if let array = new(source) {
            append(index: trackers[array]!.index(ofLeaver: ordinal))
        } else {
            append(index: lostTrackers[source]?.index(ofLeaver: ordinal) ?? ordinal)
        }
    }
}
