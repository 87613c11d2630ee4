// Numbers are compared as written: by sign, then by the power of ten of the first non-zero digit, then by the digits
// from there on. Nothing is expanded or rounded, so 1e999999999 costs no more than its eleven bytes, and two numbers
// that a binary64 cannot tell apart differ. The power is the written exponent plus a shift, and an exponent may have
// any number of digits: beyond 18, they are added one by one.

/// A JSON number, compared by its exact value.
struct DecimalToken {
    let isNegative: Bool
    /// Whether all digits are zeros, so that neither its sign nor its exponent matters.
    let isZero: Bool
    /// From the first non-zero digit to the end of the mantissa, perhaps with a point.
    private let digits: UnsafeRawBufferPointer
    let power: Power
    private var sign: Int { isZero ? 0 : isNegative ? -1 : 1 }

    /// A power of ten.
    enum Power: Comparable {
        case small(Int)
        /// A power of more than 18 digits: those of its magnitude, without leading zeros.
        case large(isNegative: Bool, [UInt8])
    }

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
        let shift = first < whole ? whole - first - 1 : whole - first
        power =
            at < end
            ? Power(exponent: UnsafeRawBufferPointer(start: at + 1, count: end - at - 1), plus: shift) : .small(shift)
    }

    /// Below, at or above zero as one number is below, equal to or above the other.
    static func compare(_ one: DecimalToken, _ other: DecimalToken) -> Int {
        guard one.sign == other.sign, one.sign != 0 else { return one.sign - other.sign }
        let order = one.power == other.power ? compareDigits(one, other) : one.power < other.power ? -1 : 1
        return one.isNegative ? -order : order
    }

    private static func compareDigits(_ one: DecimalToken, _ other: DecimalToken) -> Int {
        var (left, right) = (one.significand.makeIterator(), other.significand.makeIterator())
        while true {
            let (digit, second) = (left.next(), right.next())
            if digit == nil, second == nil { return 0 }
            let order = Int(digit ?? 0) - Int(second ?? 0)
            if order != 0 { return order }
        }
    }

    /// The values of its digits, from the first non-zero one.
    var significand: some Sequence<UInt8> {
        digits.lazy.filter { $0 != UInt8(ascii: ".") }.map { $0 &- UInt8(ascii: "0") }
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
    /// The sum of an exponent as written, without its `e`, and the shift of the first digit: 0 for units, 1 for tens.
    fileprivate init(exponent: UnsafeRawBufferPointer, plus shift: Int) {
        let isNegative = exponent.first == UInt8(ascii: "-")
        let hasSign = isNegative || exponent.first == UInt8(ascii: "+")
        let digits = exponent.dropFirst(hasSign ? 1 : 0).drop { $0 == UInt8(ascii: "0") }
        guard digits.count > 18 else {
            let magnitude = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
            self.init(isNegative ? shift - magnitude : shift + magnitude)
            return
        }
        // A shift is far smaller than such an exponent, so the sign stays; and it has at most ten digits.
        var sum = [UInt8](repeating: 0, count: 10) + digits.map { $0 - UInt8(ascii: "0") }
        var carry = isNegative ? -shift : shift
        for index in sum.indices.reversed() where carry != 0 {
            let digit = Int(sum[index]) + carry
            sum[index] = UInt8((digit % 10 + 10) % 10)
            carry = (digit - Int(sum[index])) / 10
        }
        let rest = Array(sum.drop { $0 == 0 })
        self =
            rest.count > 18
            ? .large(isNegative: isNegative, rest)
            : .small(rest.reduce(0) { $0 * 10 + Int($1) } * (isNegative ? -1 : 1))
    }

    /// Each power has only one form: `small` has at most 18 digits.
    private init(_ power: Int) {
        self =
            power.magnitude < 1_000_000_000_000_000_000
            ? .small(power) : .large(isNegative: power < 0, "\(power.magnitude)".utf8.map { $0 - UInt8(ascii: "0") })
    }

    static func < (one: Self, other: Self) -> Bool {
        switch (one, other) {
        case (.small(let one), .small(let other)): return one < other
        case (.small, .large(let isNegative, _)): return !isNegative
        case (.large(let isNegative, _), .small): return isNegative
        case (.large(let isNegative, let one), .large(let isOtherNegative, let other)):
            guard isNegative == isOtherNegative else { return isNegative }
            let (low, high) = isNegative ? (other, one) : (one, other)
            return low.count == high.count ? low.lexicographicallyPrecedes(high) : low.count < high.count
        }
    }
}
