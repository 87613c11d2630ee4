// Where things are right now: the path to an element asks one array a level.

extension JSONPatch {
    /// Starts an operation, up to the quote of its first pointer.
    mutating func begin(_ operation: StaticString, member: StaticString = "path") {
        writer.separate()
        writer.append("{\"op\":\"")
        writer.append(operation)
        writer.append("\",\"")
        writer.append(member)
        writer.append("\":\"")
    }

    /// Makes the path to an element of the new document, or to that itself, the place of the next operations.
    mutating func goTo(_ vertex: Int) {
        let start = writer.count
        if vertex != DocumentTree.root { appendPath(to: vertex) }
        place.truncate(to: 0)
        place.append(writer, from: start)
        writer.truncate(to: start)
    }

    /// Runs `body` at a place inside the present one.
    mutating func inside(_ name: (inout JSONWriter) -> Void, _ body: (inout JSONPatch) -> Void) {
        let length = place.count
        name(&place)
        body(&self)
        place.truncate(to: length)
    }

    /// The path of an array of the new document.
    mutating func appendPath(toArray array: Int) {
        if array == DocumentTree.root { return writer.append("/sections") }
        appendPath(to: array)
        writer.append("/items")
    }

    /// The path of an element of the new document that is in the document by now.
    mutating func appendPath(to vertex: Int) {
        let (array, ordinal) = (newTree.parent(of: vertex), newTree.ordinal(of: vertex))
        let tracker = trackers[array]
        if let tracker, ordinal >= tracker.placed, !stays[vertex], oldOfNew[vertex] >= 0 {
            return appendPath(toOld: oldOfNew[vertex])
        }
        appendPath(toArray: array)
        writer.emit("/", tracker?.index(ofFinal: ordinal) ?? ordinal)
    }

    /// The path of an array of the old document.
    mutating func appendPath(toOldArray array: Int) {
        if newOfOld[array] >= 0 { return appendPath(toArray: newOfOld[array]) }
        appendPath(toOld: array)
        writer.append("/items")
    }

    /// The path of an element of the old document that is still in its old array.
    private mutating func appendPath(toOld vertex: Int) {
        let (array, ordinal) = (oldTree.parent(of: vertex), oldTree.ordinal(of: vertex))
        appendPath(toOldArray: array)
        writer.emit("/", trackers[trackerKey(ofOld: array)]?.index(ofLeaver: ordinal) ?? ordinal)
    }
}
