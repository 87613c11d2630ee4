// A number or a string is found and replaced in one walk. Everything before and after it is copied as written.

/// A string to which an edit has appended: where it starts in its value, behind the quote, and its bytes as written.
package struct GrownText: Sendable {
    let start: Int
    let oldCount: Int
    let count: Int

    /// Bytes of a string from which it is worth noting that it has grown: what is noted takes a tenth of that.
    static let least = 4_096

    /// Up to here, the value was the same before.
    var oldEnd: Int { start + oldCount }

    func string(in value: UnsafeRawBufferPointer, from: Int = 0) -> JSONString {
        JSONString(start: value.baseAddress! + start + from, count: count - from, isEscaped: nil)
    }
}

/// Why nothing can be added.
enum AdditionError: Error {
    /// The place is beyond an array's end, below a scalar, or holds something other than a number.
    case notANumber
    /// The number there, or the sum, has more than `ExactDecimal.maxDigits`.
    case tooManyDigits
    /// The value there is not a string.
    case notAString
    /// The text would have this many bytes.
    case tooLong(Int)
}

extension JSONText {
    /// An accepted value, empty for none, with an amount added to the number at a path, a pointer's reference tokens as
    /// an accepted array of strings. Missing objects on the way to it are made. O(bytes).
    init(
        adding amount: ExactDecimal, at path: UnsafeRawPointer, to target: UnsafeRawBufferPointer
    ) throws(AdditionError) {
        let found = try AdditionPlace(path, in: target, else: .notANumber)
        var (cursor, writer) = (found.cursor, JSONWriter(capacity: target.count + 64))
        found.appendStart(of: target, to: &writer)
        if found.isMissing {
            amount.write(into: &writer)
        } else {
            guard cursor.byte == UInt8(ascii: "-") || cursor.byte.isDigit else { throw .notANumber }
            guard let sum = ExactDecimal(cursor.takeToken())?.adding(amount) else { throw .tooManyDigits }
            sum.write(into: &writer)
        }
        found.appendEnd(of: target, from: cursor.at, to: &writer)
        self.init(padding: writer)
    }

    /// The same with a text, an accepted string, put behind the string at a path. O(bytes).
    ///
    /// - Parameters:
    ///   - limit: the most bytes that the string may have then, in UTF-8.
    ///   - grown: a string that has grown before; then the one that has now, if it was there.
    init(
        appending text: UnsafeRawPointer, at path: UnsafeRawPointer, to target: UnsafeRawBufferPointer, limit: Int,
        _ grown: inout GrownText?
    ) throws(AdditionError) {
        let found = try AdditionPlace(path, in: target, else: .notAString)
        var (cursor, source) = (found.cursor, JSONCursor(text))
        let added = source.takeString()
        let known = grown?.string(in: target)
        var before: JSONString?
        grown = nil
        if !found.isMissing {
            guard cursor.byte == UInt8(ascii: "\"") else { throw .notAString }
            before = cursor.takeString(knowing: known)
        }
        if let before, added.count > 0, before.count >= GrownText.least {
            grown = GrownText(
                start: before.start - target.baseAddress!, oldCount: before.count, count: before.count + added.count)
        }
        // As it is written, no text is shorter.
        if (before?.count ?? 0) + added.count > limit {
            let count = (before?.utf8Count ?? 0) + added.utf8Count
            guard count <= limit else { throw .tooLong(count) }
        }
        var writer = JSONWriter(capacity: target.count + added.count + 64)
        found.appendStart(of: target, to: &writer)
        writer.append(byte: UInt8(ascii: "\""))
        for part in [before, added].lazy.compactMap(\.self) { writer.append(part.start, part.count) }
        writer.append(byte: UInt8(ascii: "\""))
        found.appendEnd(of: target, from: cursor.at, to: &writer)
        self.init(padding: writer)
    }
}

/// Where something is added in a value.
private struct AdditionPlace {
    /// At the value there or, if there is none, where a member can be written.
    private(set) var cursor: JSONCursor
    private(set) var isMissing: Bool
    /// The names that are missing.
    private var names: [JSONString] = []

    init(_ path: UnsafeRawPointer, in target: UnsafeRawBufferPointer, else error: AdditionError) throws(AdditionError) {
        var path = JSONCursor(path)
        isMissing = target.isEmpty
        cursor = isMissing ? path : JSONCursor(target.baseAddress!)
        guard path.enter() else { return }
        repeat {
            let token = path.takeString()
            if !isMissing {
                guard let isThere = cursor.finds(token) else { throw error }
                if isThere { continue }
                isMissing = true
            }
            names.append(token)
        } while path.takesComma()
    }

    func appendStart(of target: UnsafeRawBufferPointer, to writer: inout JSONWriter) {
        if let start = target.baseAddress, !target.isEmpty {
            writer.append(start, cursor.at - start)
            if isMissing { writer.separate() }
        }
        for (index, name) in names.enumerated() {
            if index > 0 || target.isEmpty { writer.append(byte: UInt8(ascii: "{")) }
            writer.append(name: name)
        }
    }

    func appendEnd(of target: UnsafeRawBufferPointer, from end: UnsafeRawPointer, to writer: inout JSONWriter) {
        for _ in 0..<max(0, names.count - (target.isEmpty ? 0 : 1)) { writer.append(byte: UInt8(ascii: "}")) }
        if let start = target.baseAddress, !target.isEmpty { writer.append(end, start + target.count - end) }
    }
}

extension JSONCursor {
    /// Steps into an object or an array by one reference token. True at the value there, false where such a member can
    /// be written; nil beyond an array's end, or below a scalar.
    fileprivate mutating func finds(_ token: JSONString) -> Bool? {
        switch byte {
        case UInt8(ascii: "{"):
            var end = at + 1
            if enter() {
                repeat {
                    if takeName() == token { return true }
                    skipValue()
                    end = at
                } while takesComma()
            }
            at = end
            return false
        case UInt8(ascii: "["):
            guard var index = Array(token.text).arrayIndex, enter() else { return nil }
            while index > 0 {
                skipValue()
                guard takesComma() else { return nil }
                index -= 1
            }
            return true
        default: return nil
        }
    }
}
