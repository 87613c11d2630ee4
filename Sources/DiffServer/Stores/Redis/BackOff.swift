/// The pause before the next attempt. It doubles, minus up to a half at random, so that nodes that lost one server do
/// not all come back at the same moment. The first pause is shorter than the shortest bound: most losses are over at
/// once.
struct BackOff: Sendable {
    /// The shortest and the longest.
    struct Bounds: Sendable {
        var shortest = Duration.milliseconds(50)
        var longest = Duration.seconds(2)
    }

    let bounds: Bounds
    private(set) var attempts = 0

    init(_ bounds: Bounds) { self.bounds = bounds }

    /// - Parameter chance: from 0 to below 1.
    mutating func next(chance: Double = .random(in: 0..<1)) -> Duration {
        defer { attempts += 1 }
        guard attempts > 0 else { return bounds.shortest * chance }
        let whole = min(bounds.longest, bounds.shortest * (1 << min(attempts - 1, 20)))
        return whole * (1 - chance / 2)
    }

    mutating func reset() { attempts = 0 }
}
