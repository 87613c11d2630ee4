// While a document is read, a place in it is only an offset: nothing counts elements or remembers names. Pointers are
// needed for errors and warnings alone, and one walk over the text then finds them all.

/// A place in a document that has been read.
package struct DocumentPlace {
    /// In the text of a value, or of a member with its name: the innermost one is meant.
    let offset: Int
    var levelsUp = 0
    /// What follows in a pointer to something that is not there.
    var rest = ""

    package init(_ offset: Int, levelsUp: Int = 0, rest: String = "") {
        (self.offset, self.levelsUp, self.rest) = (offset, levelsUp, rest)
    }
}

/// Finds the JSON Pointers to places.
struct DocumentPointers {
    private enum Step {
        case name(JSONString), index(Int)
    }

    private let text: UnsafeRawPointer
    private let places: [DocumentPlace]
    private let root: String
    private var cursor: JSONCursor
    private var steps: [Step] = []
    /// The numbers of the places that are left, in the order of the text.
    private var left: ArraySlice<Int>
    private var found: [String?]
    private var bytes = 0

    /// Pointers to places in accepted JSON, which starts at `start`, where `root` points; nil for those after the first
    /// `Violations.maxText` bytes of pointers. O(bytes).
    static func pointers(
        to places: [DocumentPlace], in text: UnsafeRawPointer, from start: Int = 0, root: String = ""
    ) -> [String?] {
        if places.isEmpty { return [] }
        var finder = DocumentPointers(places, in: text, from: start, root: root)
        finder.takeValue()
        finder.find(before: .max)
        return finder.found
    }

    /// The pointer to one place.
    static func pointer(
        to place: DocumentPlace, in text: UnsafeRawPointer, from start: Int = 0, root: String = ""
    ) -> String { pointers(to: [place], in: text, from: start, root: root)[0] ?? "" }

    private init(_ places: [DocumentPlace], in text: UnsafeRawPointer, from start: Int, root: String) {
        (self.text, self.places, self.root, cursor) = (text, places, root, JSONCursor(text + start))
        cursor.skipSpace()
        left = places.indices.sorted { (places[$0].offset, $0) < (places[$1].offset, $1) }[...]
        found = Array(repeating: nil, count: places.count)
    }

    private mutating func takeValue() {
        let isObject = cursor.byte == UInt8(ascii: "{")
        guard isObject || cursor.byte == UInt8(ascii: "[") else { return cursor.skipValue() }
        guard cursor.enter() else { return }
        var index = 0
        repeat {
            find(before: cursor.at - text)
            steps.append(isObject ? .name(cursor.takeName()) : .index(index))
            takeValue()
            find(before: cursor.at - text)
            steps.removeLast()
            index += 1
        } while !left.isEmpty && cursor.takesComma()
    }

    /// Makes the pointers to the places before an offset that were not inside anything taken so far.
    private mutating func find(before end: Int) {
        while let number = left.first, places[number].offset < end {
            left.removeFirst()
            if bytes >= Violations.maxText { continue }
            var pointer = root
            for step in steps.dropLast(places[number].levelsUp) {
                switch step {
                case .name(let name): pointer += "/" + JSONPointer.escaped(name.text)
                case .index(let index): pointer += "/\(index)"
                }
            }
            found[number] = pointer + places[number].rest
            bytes += found[number]!.utf8.count
        }
    }
}

/// Where ids are written that are stored outside of the document.
struct IDOffsets {
    private var list: [(stored: Int, offset: Int)] = []

    mutating func note(_ stored: Int, _ offset: Int) { list.append((stored, offset)) }

    /// Where the id whose text is at an offset of a state's text is written in the document. O(log ids).
    subscript(start: Int) -> Int {
        let index = list.indices.partitionPoint { list[$0].stored < start }
        return index < list.count && list[index].stored == start ? list[index].offset : start
    }
}
