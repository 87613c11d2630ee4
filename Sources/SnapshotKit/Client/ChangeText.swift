// Changes as they came in. The text is checked once as JSON; then values are places in it, and each shape is read by
// asking a place for its members or elements. A member that the dialect does not know is refused: what a client does
// not understand it must not show as if it had.

/// A JSON text of changes, in memory.
struct ChangeText {
    /// A value's place.
    typealias Place = UnsafeRawPointer

    fileprivate let base: UnsafeRawPointer
    /// The whole value.
    let root: Place

    /// Checks a text and calls `body` with it.
    static func read<Result>(
        _ json: consuming [UInt8], _ body: (ChangeText) throws(ApplyError) -> Result
    ) throws(ApplyError) -> Result {
        let count = json.count
        json.append(contentsOf: DocumentText.padding)
        return try json.withUnsafeBufferPointer { (memory) throws(ApplyError) in
            let base = UnsafeRawPointer(memory.baseAddress!)
            var scanner = JSONScanner(base: base, count: count, maxDepth: StateLimits.none.maxDepth)
            scanner.skipSpace()
            let root = base + scanner.at
            do throws(JSONError) {
                try scanner.skipValue(depth: 0)
                try scanner.finish()
            } catch {
                throw ApplyError(.notJSON, error.reason.rawValue, at: error.offset)
            }
            return try body(ChangeText(base: base, root: root))
        }
    }

    /// Offset of a place, for errors.
    func offset(_ place: Place) -> Int { place - base }

    func wrong(_ detail: String, _ place: Place) -> ApplyError { ApplyError(.wrongShape, detail, at: offset(place)) }

    // MARK: Values

    /// Calls `body` with each member's name and value.
    func members(
        of place: Place, _ body: (JSONString, Place) throws(ApplyError) -> Void
    ) throws(ApplyError) {
        var cursor = JSONCursor(place)
        guard cursor.byte == UInt8(ascii: "{") else { throw wrong("an object is expected", place) }
        guard cursor.enter() else { return }
        repeat {
            let name = cursor.takeName()
            try body(name, cursor.at)
            cursor.skipValue()
        } while cursor.takesComma()
    }

    /// Calls `body` with each element.
    func elements(of place: Place, _ body: (Place) throws(ApplyError) -> Void) throws(ApplyError) {
        var cursor = JSONCursor(place)
        guard cursor.byte == UInt8(ascii: "[") else { throw wrong("an array is expected", place) }
        guard cursor.enter() else { return }
        repeat {
            try body(cursor.at)
            cursor.skipValue()
        } while cursor.takesComma()
    }

    func unknownMember(_ name: JSONString, _ place: Place) -> ApplyError {
        wrong("no member \"\(String(decoding: Array(name.text), as: UTF8.self))\" is known here", place)
    }

    /// A value that must be there.
    func required<Value>(_ value: Value?, _ name: StaticString, _ place: Place) throws(ApplyError) -> Value {
        guard let value else { throw wrong("\(name) is missing", place) }
        return value
    }

    func isNull(_ place: Place) -> Bool { JSONCursor(place).byte == UInt8(ascii: "n") }

    func string(_ place: Place) throws(ApplyError) -> String {
        var cursor = JSONCursor(place)
        guard cursor.byte == UInt8(ascii: "\"") else { throw wrong("a string is expected", place) }
        return String(decoding: Array(cursor.takeString().text), as: UTF8.self)
    }

    func integer(_ place: Place) throws(ApplyError) -> Int {
        var cursor = JSONCursor(place)
        guard let number = Int(String(decoding: cursor.takeToken(), as: UTF8.self)) else {
            throw wrong("a whole number is expected", place)
        }
        return number
    }

    func boolean(_ place: Place) throws(ApplyError) -> Bool {
        switch JSONCursor(place).byte {
        case UInt8(ascii: "t"): return true
        case UInt8(ascii: "f"): return false
        default: throw wrong("true or false is expected", place)
        }
    }

    func id(_ place: Place) throws(ApplyError) -> ElementID {
        var cursor = JSONCursor(place)
        switch cursor.byte {
        case UInt8(ascii: "\""): return ElementID(try string(place))
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            return ElementID(verbatimInteger: String(decoding: cursor.takeToken(), as: UTF8.self))
        default: throw wrong("an id is expected", place)
        }
    }

    /// An id, or nil for null.
    func optionalID(_ place: Place) throws(ApplyError) -> ElementID? { isNull(place) ? nil : try id(place) }

    func text(_ place: Place) -> JSONText {
        var cursor = JSONCursor(place)
        return JSONText(accepted: cursor.value())
    }
}
