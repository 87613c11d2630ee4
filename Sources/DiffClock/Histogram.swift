/// How many durations were at most as long as each bound. Bounds double, so that a quantile is known to a factor of two
/// whatever the scale. O(1) an entry.
public struct Histogram: Sendable {
    /// The shortest bound that there can be, in nanoseconds: 0.25 ms.
    private static let unit: Int64 = 250_000

    /// The bounds are the unit times two to the power of these.
    private let powers: ClosedRange<Int>
    /// For each bound those that exceed the one before it, then those that exceed all.
    public private(set) var counts: [Int]
    /// Of all durations, in seconds. Not in nanoseconds: those of a hundred thousand streams fill 64 bits in a day.
    public private(set) var sum = 0.0

    /// - Parameter powers: of two, of which 0.25 ms is 0; by default from there to 33 s.
    public init(_ powers: ClosedRange<Int> = 0...17) {
        self.powers = powers
        counts = [Int](repeating: 0, count: powers.count + 1)
    }

    /// The bounds in seconds.
    public var bounds: [Double] { powers.map { Double(Self.unit << $0) / 1e9 } }

    /// Counts a duration.
    @inline(__always)
    public mutating func add(nanoseconds: Int64) {
        // The bits of the number of whole units below it: 0 up to the unit, 1 up to its double.
        let power = Int64.bitWidth - ((max(1, nanoseconds) - 1) / Self.unit).leadingZeroBitCount
        counts[min(max(power, powers.lowerBound), powers.upperBound + 1) - powers.lowerBound] += 1
        sum += Double(nanoseconds) / 1e9
    }

    /// Counts a duration.
    public mutating func add(_ time: Duration) { add(nanoseconds: time.wholeNanoseconds) }
}
