/// The estimated cost of a piece of work, in bytes of a state that are read, compared or written once. It alone decides
/// whether work leaves its loop: an iteration must not hold up the loop's other connections.
public struct WorkCost: Comparable, Sendable {
    /// Bytes of a state, each handled once.
    public let bytes: Int

    /// The most that a loop does in one iteration: about a millisecond's work.
    public static let iteration = WorkCost(bytes: 512 * 1024)
    /// No work.
    public static let none = WorkCost(bytes: 0)

    private init(bytes: Int) { self.bytes = bytes }

    /// The cost of going through a state once, or `times` times.
    ///
    /// - Parameter footprint: the state's memory, in bytes.
    public static func state(_ footprint: Int, times: Int = 1) -> WorkCost { WorkCost(bytes: footprint * times) }

    /// The cost of making a state of JSON text: the records of its items take about as much memory as the text.
    public static func text(_ count: Int, times: Int = 1) -> WorkCost { WorkCost(bytes: 2 * count * times) }

    /// Compressing bytes.
    public static func compression(of count: Int) -> WorkCost { WorkCost(bytes: 4 * count) }

    /// The cost of looking at this many rows or changes.
    public static func rows(_ count: Int) -> WorkCost { WorkCost(bytes: 1024 * count) }

    /// Whether the work belongs on a worker.
    public var isLong: Bool { self > .iteration }

    /// Compares bytes.
    public static func < (one: WorkCost, other: WorkCost) -> Bool { one.bytes < other.bytes }

    /// The cost of both, one after the other.
    public static func + (one: WorkCost, other: WorkCost) -> WorkCost { WorkCost(bytes: one.bytes + other.bytes) }
}
