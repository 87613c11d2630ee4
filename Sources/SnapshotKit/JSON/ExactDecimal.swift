// Amounts are often money or counters, so a sum is exact or refused, never rounded. A number is kept as whole units and
// a fraction in units of 10^-18, of the same sign: 18 digits on each side of the point fit into an Int64, and so do the
// sums of two of them. No 128-bit integer is needed, which older systems of apps lack.

/// A decimal number of at most 18 digits, counted as written without an exponent: a leading `0.` and its zeros, and
/// zeros at the end of the fraction, do not count.
struct ExactDecimal: Equatable {
    static let maxDigits = 18

    private static let powers = sequence(first: Int64(1)) { $0 * 10 }.prefix(maxDigits + 1).map { $0 }
    /// 10^18 units of the fraction are one.
    private static let unit = powers[maxDigits]

    private let whole: Int64
    /// In units of 10^-18; `whole` and this never have opposite signs.
    private let fraction: Int64

    /// Nil if it has too many digits.
    private init?(whole: Int64, fraction: Int64) {
        (self.whole, self.fraction) = (whole, fraction)
        guard whole.magnitude < Self.unit.magnitude, digitCount <= Self.maxDigits else { return nil }
    }

    /// Reads an accepted number; nil if it has too many digits. O(bytes): exponents are not expanded.
    init?(_ token: UnsafeRawBufferPointer) {
        let decimal = DecimalToken(token)
        var (whole, fraction) = (Int64(0), Int64(0))
        // The power of its first digit, which is not zero.
        guard case .small(var power) = decimal.power, power < Self.maxDigits else { return nil }
        for digit in decimal.significand {
            if power >= 0 {
                whole += Int64(digit) * Self.powers[power]
            } else if power >= -Self.maxDigits {
                fraction += Int64(digit) * Self.powers[Self.maxDigits + power]
            } else if digit != 0 {
                return nil
            }
            power -= 1
        }
        let sign: Int64 = decimal.isNegative ? -1 : 1
        self.init(whole: sign * whole, fraction: sign * fraction)
    }

    /// The exact sum; nil if it has too many digits.
    func adding(_ other: ExactDecimal) -> ExactDecimal? {
        // Each summand is below 10^18 in magnitude, so this cannot overflow.
        let sum = fraction + other.fraction
        var (whole, fraction) = (whole + other.whole + sum / Self.unit, sum % Self.unit)
        if whole > 0, fraction < 0 {
            (whole, fraction) = (whole - 1, fraction + Self.unit)
        } else if whole < 0, fraction > 0 {
            (whole, fraction) = (whole + 1, fraction - Self.unit)
        }
        return ExactDecimal(whole: whole, fraction: fraction)
    }

    private var digitCount: Int {
        var (count, rest) = (0, whole.magnitude)
        while rest > 0 { (count, rest) = (count + 1, rest / 10) }
        return count + fractionDigits.count
    }

    /// Without zeros at the end.
    private var fractionDigits: (value: UInt64, count: Int) {
        var (value, count) = (fraction.magnitude, Self.maxDigits)
        while count > 0, value % 10 == 0 { (value, count) = (value / 10, count - 1) }
        return (value, count)
    }

    /// Appends the number without an exponent and without insignificant zeros.
    func write(into writer: inout JSONWriter) {
        if whole < 0 || fraction < 0 { writer.append(byte: UInt8(ascii: "-")) }
        writer.append(Int(whole.magnitude))
        let (value, count) = fractionDigits
        guard count > 0 else { return }
        writer.append(byte: UInt8(ascii: "."))
        for power in (0..<count).reversed() {
            writer.append(byte: UInt8(ascii: "0") + UInt8(value / Self.powers[power].magnitude % 10))
        }
    }
}
