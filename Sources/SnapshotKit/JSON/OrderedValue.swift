// The order of JSON values: absent, null, false, true, numbers by value, strings by the UTF-8 of their text, then
// arrays and objects, all equal. A 64-bit key decides most comparisons: its highest three bits hold the type, the rest
// as much of a number or a string as fits. Different keys give the order of their values; equal keys tell whether the
// values are equal or only begin alike.

/// A JSON value, for comparison with others by value.
package struct OrderedValue {
    package enum TypeRank: UInt8 {
        case absent, null, no, yes, number, string, container
    }

    package let rank: TypeRank
    /// For a number the token, for a string the bytes between its quotes.
    package let text: UnsafeRawBufferPointer
    package let isEscaped: Bool

    private init(_ rank: TypeRank, _ text: UnsafeRawBufferPointer, isEscaped: Bool = false) {
        (self.rank, self.text, self.isEscaped) = (rank, text, isEscaped)
    }

    package static var absent: OrderedValue { OrderedValue(.absent, UnsafeRawBufferPointer(start: nil, count: 0)) }

    init(_ flag: Bool) { self.init(flag ? .yes : .no, UnsafeRawBufferPointer(start: nil, count: 0)) }

    init(_ string: JSONString) {
        self.init(
            .string, UnsafeRawBufferPointer(start: string.start, count: string.count), isEscaped: string.isEscaped)
    }

    /// An id, whatever its spelling: the number that its text, without escapes, is, or else a string.
    package init(id text: UnsafeRawBufferPointer) { self.init(text.isInteger ? .number : .string, text) }

    /// The value that starts at an address in accepted text.
    package init(at start: UnsafeRawPointer) {
        var cursor = JSONCursor(start)
        switch cursor.byte {
        case UInt8(ascii: "\""): self.init(cursor.takeString())
        case UInt8(ascii: "{"), UInt8(ascii: "["): self.init(.container, UnsafeRawBufferPointer(start: start, count: 0))
        case UInt8(ascii: "n"): self.init(.null, UnsafeRawBufferPointer(start: start, count: 0))
        case UInt8(ascii: "t"): self.init(true)
        case UInt8(ascii: "f"): self.init(false)
        default: self.init(.number, cursor.takeToken())
        }
    }

    /// A hash, by the process's key, that is the same for equal values: numbers by value, at any depth. O(bytes).
    package var hash: UInt64 {
        switch rank {
        case .number: DecimalToken(text).hashed(by: .process)
        case .string: fingerprint(of: string, by: .process)
        case .container: numericHash(at: text.baseAddress!)
        case .absent, .null, .no, .yes: KeyedHash.process.mixed(UInt64(rank.rawValue))
        }
    }

    package var string: JSONString { JSONString(start: text.baseAddress!, count: text.count, isEscaped: isEscaped) }

    /// Below, at or above zero as the first comes before, with or after the second. O(bytes).
    package static func compare(_ one: OrderedValue, _ other: OrderedValue) -> Int {
        guard one.rank == other.rank else { return one.rank.rawValue < other.rank.rawValue ? -1 : 1 }
        switch one.rank {
        case .number: return DecimalToken.compare(DecimalToken(one.text), DecimalToken(other.text))
        case .string: return compareStrings(one, other)
        case .absent, .null, .no, .yes, .container: return 0
        }
    }

    private static func compareStrings(_ one: OrderedValue, _ other: OrderedValue) -> Int {
        guard one.isEscaped || other.isEscaped else {
            let shorter = min(one.text.count, other.text.count)
            let order = shorter == 0 ? 0 : compareBytes(one.text.baseAddress!, other.text.baseAddress!, shorter)
            return order != 0 ? order : one.text.count - other.text.count
        }
        var (left, right) = (one.string.text, other.string.text)
        while true {
            guard let byte = left.next() else { return right.next() == nil ? 0 : -1 }
            guard let second = right.next() else { return 1 }
            if byte != second { return byte < second ? -1 : 1 }
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Whether it is the text of a JSON integer: `-?(0|[1-9][0-9]*)`.
    package var isInteger: Bool {
        let digits = first == UInt8(ascii: "-") ? dropFirst() : self[...]
        return digits.first.map { $0.isDigit && ($0 != UInt8(ascii: "0") || digits.count == 1) } == true
            && digits.allSatisfy(\.isDigit)
    }
}

/// A value's position in the order, as far as 64 bits tell.
package struct OrderKey {
    package let bits: UInt64

    package init(bits: UInt64) { self.bits = bits }

    /// The key of a value, without the first `offset` bytes of a string. O(1), except for a number of many digits.
    package init(_ value: OrderedValue, from offset: Int = 0) {
        let rest: UInt64
        switch value.rank {
        case .number: rest = Self.bits(ofNumber: value.text)
        case .string: rest = Self.bits(ofText: value, from: offset)
        case .absent, .null, .no, .yes, .container: rest = 0
        }
        bits = UInt64(value.rank.rawValue) << 61 | rest
    }

    private var rank: UInt8 { UInt8(truncatingIfNeeded: bits >> 61) }

    /// Whether two values with this key may differ.
    package var isPrefix: Bool {
        switch rank {
        case OrderedValue.TypeRank.string.rawValue: return bits & 15 == 8
        case OrderedValue.TypeRank.number.rawValue: return (bits & 1 == 1) == (bits & Self.positive != 0)
        default: return false
        }
    }

    package var isString: Bool { rank == OrderedValue.TypeRank.string.rawValue }

    // MARK: Strings

    /// The number of a string's bytes that a key holds.
    static let textBytes = 7

    /// Seven bytes, padded with zeros, and their number: eight if there are more.
    private static func bits(ofText value: OrderedValue, from offset: Int) -> UInt64 {
        var word: UInt64 = 0
        let count: Int
        if value.isEscaped {
            var (text, used) = (value.string.text, 0)
            for _ in 0..<offset { _ = text.next() }
            while used < textBytes, let byte = text.next() {
                word |= UInt64(byte) << UInt64(56 - 8 * used)
                used += 1
            }
            count = used == textBytes && text.next() != nil ? 8 : used
        } else {
            let left = value.text.count - offset
            // Any string is followed by at least a quote and the padding.
            if left > 0 { word = load64(value.text.baseAddress! + offset).byteSwapped }
            count = min(left, 8)
            if count < 8 { word &= ~(UInt64.max >> UInt64(8 * max(0, count))) }
        }
        return (word >> 8) << 4 | UInt64(truncatingIfNeeded: count)
    }

    // MARK: Numbers

    /// Set for zero and positive numbers.
    private static let positive: UInt64 = 1 << 60
    private static let powers = -511...510

    /// Sign, power of ten, the first 14 digits, and whether more follow; inverted but for the sign if that is negative.
    private static func bits(ofNumber token: UnsafeRawBufferPointer) -> UInt64 {
        let number = DecimalToken(token)
        if number.isZero { return positive }
        let magnitude: UInt64
        if case .small(let power) = number.power, powers.contains(power) {
            var (digits, count, isCut): (UInt64, Int, Bool) = (0, 0, false)
            for digit in number.significand {
                if count < 14 {
                    digits = digits * 10 + UInt64(digit)
                    count += 1
                } else if digit != 0 {
                    isCut = true
                    break
                }
            }
            for _ in count..<14 { digits *= 10 }
            magnitude = UInt64(power + 512) << 48 | digits << 1 | (isCut ? 1 : 0)
        } else {
            magnitude = number.power < .small(powers.lowerBound) ? 1 : UInt64(1023) << 48 | 1
        }
        return number.isNegative ? ~magnitude & (positive - 1) : positive | magnitude
    }
}
