/// An array or an object in a document whose elements could be rows or sections. Valid while the document is.
struct FoundList {
    enum Elements {
        case objects, lists, texts
        /// Strings or numbers, all of one type; in an array that is the document, of any.
        case values
    }

    let pointer: JSONPointer
    let start: UnsafeRawPointer
    let bytes: Int
    let count: Int
    let elements: Elements
    let isMap: Bool
    /// Whether its members' names look like keys rather than names of fields.
    let hasKeys: Bool
    /// How likely this is the intended list, by its size and name.
    let weight: Int

    /// Calls `body` with a cursor at each of the first `limit` elements, which it takes, or at those of the lists at
    /// `inner` in them; and with the number of the list.
    static func forEach(
        in list: UnsafeRawPointer, at inner: JSONPointer? = nil, upTo limit: Int = .max,
        _ body: (inout JSONCursor, Int) -> Void
    ) {
        let places = inner.map { PointerSet([$0]) }
        var (left, outer) = (limit, 0)
        func take(_ element: inout JSONCursor) -> Bool {
            body(&element, outer)
            left -= 1
            return left > 0
        }
        forEach(in: list) { element in
            outer += 1
            guard let places else { return take(&element) }
            let list = places.value(in: element.at, entersArrays: false)
            element.skipValue()
            if let list, list.load(as: UInt8.self) == UInt8(ascii: "[") { forEach(in: list, take) }
            return left > 0
        }
    }

    /// The same, until `body` returns false.
    static func forEach(in list: UnsafeRawPointer, _ body: (inout JSONCursor) -> Bool) {
        var cursor = JSONCursor(list)
        let isObject = cursor.byte == UInt8(ascii: "{")
        guard cursor.enter() else { return }
        repeat {
            if isObject { _ = cursor.takeName() }
            guard body(&cursor) else { return }
        } while cursor.takesComma()
    }
}

/// Finds what could be lists in a document, through objects alone: of nested lists, the outer one.
struct ListFinder {
    /// The most objects around a list.
    private static let maxDepth = 6
    /// The most lists kept: the largest ones; and the most empty ones.
    private static let maxLists = 6

    private var cursor: JSONCursor
    private var path: [JSONString] = []
    private(set) var lists: [FoundList] = []
    /// Whether a list may be empty: an array is, or the whole document.
    private(set) var hasEmptyList = false
    /// Members that are empty arrays, or null, as some servers write those.
    private(set) var emptyPlaces: [JSONPointer] = []

    /// Walks through an accepted document. O(bytes).
    init(_ start: UnsafeRawPointer) {
        cursor = JSONCursor(start)
        cursor.skipSpace()
        if cursor.byte == UInt8(ascii: "n") { hasEmptyList = true }
        takeValue()
    }

    private mutating func takeValue() {
        switch cursor.byte {
        case UInt8(ascii: "["): takeArray()
        case UInt8(ascii: "{") where path.count < Self.maxDepth: takeObject()
        default:
            if cursor.byte == UInt8(ascii: "n") { noteEmpty() }
            cursor.skipValue()
        }
    }

    private mutating func noteEmpty() {
        guard !path.isEmpty, emptyPlaces.count < Self.maxLists, pathIsShort else { return }
        emptyPlaces.append(pointer)
    }

    private var pointer: JSONPointer { JSONPointer(tokens: path.map { Array($0.text) }) }
    private var pathIsShort: Bool { path.reduce(0) { $0 + 1 + 2 * $1.count } <= StateShape.maxPointerBytes }

    private mutating func takeArray() {
        let start = cursor.at
        var tally = ElementTally()
        if cursor.enter() {
            repeat {
                tally.add(cursor.byte)
                cursor.skipValue()
            } while cursor.takesComma()
        }
        if tally.count == 0 {
            hasEmptyList = true
            noteEmpty()
        }
        // Elsewhere, numbers are more likely coordinates or measures.
        let elements = tally.elements ?? .values
        guard tally.count > 0, elements != .values || path.isEmpty else { return }
        note(start, tally, elements, isMap: false)
    }

    private mutating func takeObject() {
        let start = cursor.at
        var tally = ElementTally()
        if cursor.enter() {
            repeat {
                let name = cursor.takeName()
                tally.add(cursor.byte, named: name)
                path.append(name)
                takeValue()
                path.removeLast()
            } while cursor.takesComma()
        }
        if tally.count == 0, path.isEmpty { hasEmptyList = true }
        // Two objects side by side are hardly a list, unless their names are keys.
        guard let elements = tally.elements, tally.count > 1,
            tally.hasKeys || elements == .lists || elements != .values && tally.count > 2
        else { return }
        note(start, tally, elements == .texts ? .values : elements, isMap: true)
    }

    /// Keeps a list in place of a less likely one.
    private mutating func note(
        _ start: UnsafeRawPointer, _ tally: ElementTally, _ elements: FoundList.Elements, isMap: Bool
    ) {
        let bytes = cursor.at - start
        // No name with a weight is longer.
        let name = path.last.flatMap { $0.count < 32 ? $0.string : nil }
        let weight = FoundList.weight(bytes, named: name, elements) - (elements == .lists && !isMap ? 30 : 0)
        if lists.count >= Self.maxLists {
            let least = lists.indices.min { lists[$0].weight < lists[$1].weight }!
            guard lists[least].weight < weight else { return }
            lists.remove(at: least)
        }
        guard pathIsShort else { return }
        lists.append(
            FoundList(
                pointer: pointer, start: start, bytes: bytes, count: tally.count, elements: elements, isMap: isMap,
                hasKeys: tally.hasKeys, weight: weight))
    }
}

/// The types of a list's elements.
private struct ElementTally {
    private(set) var count = 0
    /// Nil if they are not all of one type.
    private(set) var elements: FoundList.Elements?
    private var keys = 0

    mutating func add(_ first: UInt8, named name: JSONString? = nil) {
        count += 1
        let type: FoundList.Elements? =
            switch first {
            case UInt8(ascii: "{"): .objects
            case UInt8(ascii: "["): .lists
            case UInt8(ascii: "\""): .texts
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): .values
            default: nil
            }
        elements = count == 1 || elements == type ? type : nil
        if let name, name.looksLikeKey(among: type == .objects) { keys += 1 }
    }

    var hasKeys: Bool { count > 0 && keys == count }
}

extension JSONString {
    /// Whether a member's name looks like a key: `EUR`, `2026-11-26`, `-NxT3kQ`, `7`, or of an object, with any digit.
    fileprivate func looksLikeKey(among objects: Bool) -> Bool {
        let bytes = UnsafeRawBufferPointer(start: start, count: count)
        guard let first = bytes.first, first != UInt8(ascii: "@"), first != UInt8(ascii: "$") else { return false }
        if isEscaped || first.isDigit { return true }
        let isOneWord = bytes.allSatisfy { $0.isLetter || $0.isDigit || $0 == UInt8(ascii: "_") }
        let hasLowercase = bytes.contains { $0 &- UInt8(ascii: "a") < 26 }
        return !isOneWord || !hasLowercase || (objects || count >= 16) && bytes.contains(where: \.isDigit)
    }
}

// MARK: - Weights

extension FoundList {
    fileprivate static func weight(_ bytes: Int, named name: String?, _ elements: Elements) -> Int {
        let size = 6 * (Int.bitWidth - bytes.leadingZeroBitCount)
        let bonus = (name?.lowercased()).map { usual.contains($0) ? 20 : aside.contains($0) ? -40 : 0 } ?? 0
        return size + bonus - (elements == .objects || elements == .lists ? 0 : 60)
    }

    /// Whether rows may refer to its elements as their sections.
    var mayBeSections: Bool {
        pointer.tokens.last?.elementsEqual("columns".utf8) == true
            || !pointer.tokens.contains { Self.aside.contains(String(decoding: $0, as: UTF8.self).lowercased()) }
    }

    /// Names of the list in a document that has one.
    private static let usual: Set<String> = [
        "data", "items", "item", "results", "result", "features", "edges", "nodes", "entries", "entry", "records",
        "rows", "hits", "list", "children", "value", "values", "resources", "members", "feed",
    ]
    /// Names of things beside a list.
    private static let aside: Set<String> = [
        "included", "includes", "errors", "warnings", "links", "link", "facets", "filters", "aggregations", "meta",
        "metadata", "pagination", "headers", "namespaces", "authors", "fields", "columns",
    ]
}
