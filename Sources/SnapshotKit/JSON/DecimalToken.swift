// Numbers are compared as written: by sign, then by the power of ten of the first non-zero digit, then by the digits
// from there on. Nothing is expanded or rounded, so 1e999999999 costs no more than its eleven bytes, and two numbers
// that a binary64 cannot tell apart differ. The power is the written exponent plus a place, and an exponent may have
// any number of digits: beyond 18, they are added one by one.

/// A JSON number, compared by its exact value.
struct DecimalToken {
    let isNegative: Bool
    /// Whether all digits are zeros, so that neither its sign nor its exponent matters.
    let isZero: Bool
    /// From the first non-zero digit to the end of the mantissa, perhaps with a point.
    private let digits: UnsafeRawBufferPointer
    let power: Power

    /// A power of ten.
    enum Power: Equatable {
        case small(Int)
        /// A power of more than 18 digits: those of its magnitude, without leading zeros.
        case large(isNegative: Bool, [UInt8])
    }

    /// Takes apart an accepted number. O(bytes).
    init(_ token: UnsafeRawBufferPointer) {
        let (start, end) = (token.baseAddress!, token.baseAddress! + token.count)
        var at = start
        let byte = { (at: UnsafeRawPointer) in at.load(as: UInt8.self) }
        isNegative = byte(at) == UInt8(ascii: "-")
        if isNegative { at += 1 }
        var (first, point): (UnsafeRawPointer?, UnsafeRawPointer?) = (nil, nil)
        while at < end, byte(at) | 0x20 != UInt8(ascii: "e") {
            if byte(at) == UInt8(ascii: ".") {
                point = at
            } else if first == nil, byte(at) != UInt8(ascii: "0") {
                first = at
            }
            at += 1
        }
        isZero = first == nil
        digits = UnsafeRawBufferPointer(start: first ?? at, count: at - (first ?? at))
        guard let first else {
            power = .small(0)
            return
        }
        // The first digit after the point stands for a tenth.
        let whole = point ?? at
        let place = first < whole ? whole - first - 1 : whole - first
        power =
            at < end
            ? Power(exponent: UnsafeRawBufferPointer(start: at + 1, count: end - at - 1), plus: place) : .small(place)
    }

    /// Below, at or above zero as one number is below, equal to or above the other.
    static func compare(_ one: DecimalToken, _ other: DecimalToken) -> Int {
        if one.isZero || other.isZero {
            if one.isZero, other.isZero { return 0 }
            return one.isZero ? (other.isNegative ? 1 : -1) : (one.isNegative ? -1 : 1)
        }
        guard one.isNegative == other.isNegative else { return one.isNegative ? -1 : 1 }
        var order = Power.compare(one.power, other.power)
        if order == 0 { order = compareDigits(one, other) }
        return one.isNegative ? -order : order
    }

    private static func compareDigits(_ one: DecimalToken, _ other: DecimalToken) -> Int {
        var (left, right) = (one.significand, other.significand)
        while true {
            let (digit, second) = (left.next(), right.next())
            if digit == nil, second == nil { return 0 }
            let order = Int(digit ?? 0) - Int(second ?? 0)
            if order != 0 { return order }
        }
    }

    /// The values of its digits, from the first non-zero one.
    var significand: Significand { Significand(digits) }

    struct Significand: Sequence, IteratorProtocol {
        private var at: UnsafeRawPointer
        private let end: UnsafeRawPointer

        fileprivate init(_ digits: UnsafeRawBufferPointer) {
            at = digits.baseAddress!
            end = at + digits.count
        }

        mutating func next() -> UInt8? {
            guard at < end else { return nil }
            // A point is followed by a digit.
            if at.load(as: UInt8.self) == UInt8(ascii: ".") { at += 1 }
            defer { at += 1 }
            return at.load(as: UInt8.self) &- UInt8(ascii: "0")
        }
    }

    /// A hash that equal numbers share, however they are written.
    func hashed(by hash: KeyedHash) -> UInt64 {
        if isZero { return hash.mixed(0) }
        var state: UInt64 = isNegative ? 1 : 2
        switch power {
        case .small(let power): state = hash.mixed(state, UInt64(bitPattern: Int64(power)))
        case .large(let isNegative, let digits):
            digits.withUnsafeBytes { state = hash.hash($0.baseAddress!, $0.count, from: state &+ (isNegative ? 2 : 4)) }
        }
        // Zeros count only once another digit follows them.
        var zeros: UInt64 = 0
        for digit in significand {
            if digit == 0 {
                zeros += 1
            } else {
                state = hash.mixed(state, zeros << 8 | UInt64(digit))
                zeros = 0
            }
        }
        return state
    }
}

extension DecimalToken.Power {
    /// The sum of an exponent as written, without its `e`, and the place of the first digit: 0 for units, 1 for tens.
    fileprivate init(exponent: UnsafeRawBufferPointer, plus place: Int) {
        let isNegative = exponent.first == UInt8(ascii: "-")
        let hasSign = isNegative || exponent.first == UInt8(ascii: "+")
        let digits = exponent.dropFirst(hasSign ? 1 : 0).drop { $0 == UInt8(ascii: "0") }
        guard digits.count > 18 else {
            let magnitude = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
            self.init(isNegative ? place - magnitude : place + magnitude)
            return
        }
        // A place is far smaller than such an exponent, so the sign stays; and it has at most ten digits.
        var sum = [UInt8](repeating: 0, count: 10) + digits.map { $0 - UInt8(ascii: "0") }
        var carry = isNegative ? -place : place
        for index in sum.indices.reversed() where carry != 0 {
            let digit = Int(sum[index]) + carry
            sum[index] = UInt8((digit % 10 + 10) % 10)
            carry = (digit - Int(sum[index])) / 10
        }
        let rest = Array(sum.drop { $0 == 0 })
        if rest.count > 18 {
            self = .large(isNegative: isNegative, rest)
        } else {
            let magnitude = rest.reduce(0) { $0 * 10 + Int($1) }
            self = .small(isNegative ? -magnitude : magnitude)
        }
    }

    /// Each power has only one form: `small` has at most 18 digits.
    private init(_ power: Int) {
        guard power.magnitude >= 1_000_000_000_000_000_000 else {
            self = .small(power)
            return
        }
        self = .large(isNegative: power < 0, "\(power.magnitude)".utf8.map { $0 - UInt8(ascii: "0") })
    }

    static func compare(_ one: Self, _ other: Self) -> Int {
        switch (one, other) {
        case (.small(let one), .small(let other)): return one < other ? -1 : one == other ? 0 : 1
        case (.small, .large(let isNegative, _)): return isNegative ? 1 : -1
        case (.large(let isNegative, _), .small): return isNegative ? -1 : 1
        case (.large(let isNegative, let one), .large(let isOtherNegative, let other)):
            guard isNegative == isOtherNegative else { return isNegative ? -1 : 1 }
            var order = one.count - other.count
            if order == 0 {
                order = one == other ? 0 : one.lexicographicallyPrecedes(other) ? -1 : 1
            }
            return isNegative ? -order : order
        }
    }
}
