// A number is found and replaced in one walk. Everything before and after it is copied as written: no other part of the
// text is taken apart, and no other number is encoded anew.

/// Why an amount cannot be added.
enum AdditionError: Error {
    /// The place is beyond an array's end, below a scalar, or holds something other than a number.
    case notANumber
    /// The number there, or the sum, has more than `ExactDecimal.maxDigits`.
    case tooManyDigits
}

extension JSONText {
    /// An accepted value, empty for none, with an amount added to a number in it. A missing number counts as 0, and
    /// missing objects on the way to it are made. O(bytes).
    ///
    /// - Parameter path: an accepted array of strings, the reference tokens of a pointer (RFC 6901).
    init(
        adding amount: ExactDecimal, at path: UnsafeRawPointer, to target: UnsafeRawBufferPointer
    ) throws(AdditionError) {
        var (path, cursor) = (JSONCursor(path), JSONCursor(path))
        var isMissing = target.isEmpty
        if let start = target.baseAddress, !isMissing { cursor = JSONCursor(start) }
        var writer = JSONWriter(capacity: target.count + 64)
        var added = 0
        if path.enter() {
            repeat {
                let token = path.takeString()
                if !isMissing {
                    switch try cursor.step(to: token) {
                    case .value: continue
                    case .gap(let isFirst):
                        isMissing = true
                        writer.append(target.baseAddress!, cursor.at - target.baseAddress!)
                        if !isFirst { writer.append(byte: UInt8(ascii: ",")) }
                    }
                } else {
                    writer.append(byte: UInt8(ascii: "{"))
                    added += 1
                }
                writer.append(name: token)
            } while path.takesComma()
        }
        if isMissing {
            amount.write(into: &writer)
            for _ in 0..<added { writer.append(byte: UInt8(ascii: "}")) }
        } else {
            guard cursor.byte == UInt8(ascii: "-") || cursor.byte.isDigit else { throw .notANumber }
            writer.append(target.baseAddress!, cursor.at - target.baseAddress!)
            guard let sum = ExactDecimal(cursor.takeToken())?.adding(amount) else { throw .tooManyDigits }
            sum.write(into: &writer)
        }
        if let start = target.baseAddress, !target.isEmpty {
            writer.append(cursor.at, start + target.count - cursor.at)
        }
        self.init(padding: writer)
    }
}

extension JSONCursor {
    fileprivate enum Step {
        /// The cursor is at the value.
        case value
        /// The object has no such member, and the cursor is where one can be written.
        case gap(isFirst: Bool)
    }

    /// Steps from an object or an array into it, by one reference token of a pointer.
    fileprivate mutating func step(to token: JSONString) throws(AdditionError) -> Step {
        switch byte {
        case UInt8(ascii: "{"):
            var end = at + 1
            guard enter() else {
                at = end
                return .gap(isFirst: true)
            }
            repeat {
                if takeName() == token { return .value }
                skipValue()
                end = at
            } while takesComma()
            at = end
            return .gap(isFirst: false)
        case UInt8(ascii: "["):
            guard var index = Array(token.text).arrayIndex, enter() else { throw .notANumber }
            while index > 0 {
                skipValue()
                guard takesComma() else { throw .notANumber }
                index -= 1
            }
            return .value
        default: throw .notANumber
        }
    }
}
