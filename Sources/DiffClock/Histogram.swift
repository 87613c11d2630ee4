/// How many durations were at most as long as each bound. Bounds double, so a quantile is known to a factor of two.
public struct Histogram: Sendable {
    /// The shortest possible bound, in nanoseconds: 0.25 ms.
    private static let unit: Int64 = 250_000

    /// The bounds are the unit times two to these powers.
    private let powers: ClosedRange<Int>
    /// Durations above the previous bound and not above this one, for each bound; then those above all.
    public private(set) var counts: [Int]
    /// The sum, in seconds: in nanoseconds, a hundred thousand streams would fill 64 bits in a day.
    public private(set) var sum = 0.0

    /// - Parameter powers: of two; 0 means 0.25 ms. Default: from there to 33 s.
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
