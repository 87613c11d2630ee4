// Bodies on their way are memory that no session owns yet. Together they may take an eighth of what sessions may, and a parsed state about as
// much again; so the process stays within a quarter above its budget however many clients send at once.

import HTTPCore
import Synchronization

/// Room for the bodies of all requests that are being read or answered.
final class BodyBudget: Sendable {
    private let limit: Int
    private let maxBody: Int
    private let used = Atomic<Int>(0)

    /// Bytes reserved now.
    var inUse: Int { used.load(ordering: .relaxed) }

    /// Bodies up to this size are not counted, in bytes: connections bound their number.
    private static let small = 16 * 1024
    /// What is counted for a body whose size is told by nobody beforehand.
    private static let unknown = 1 << 20

    /// - Parameter maxBody: there is always room for two bodies of this size.
    init(memory: Int, maxBody: Int) {
        limit = max(memory / 8, 2 * maxBody)
        self.maxBody = maxBody
    }

    /// Room for one body, given back when the value goes.
    ///
    /// - Throws: 503 where there is none at the moment.
    func reserve(_ head: RequestHead) throws(Problem) -> Reservation? {
        let size: Int
        switch head.bodyLength {
        case .none: return nil
        case .chunked: size = Self.unknown
        case .known(let length): size = head.contentEncoding == .gzip ? max(length, Self.unknown) : length
        }
        // One that is larger than any may be is refused as such (413), whatever room there is.
        guard size > Self.small, size <= maxBody else { return nil }
        let before = used.wrappingAdd(size, ordering: .relaxed).oldValue
        let reservation = Reservation(self, size)
        guard before + size <= limit else { throw Problem(.capacity, "too many large bodies at once; try again") }
        return reservation
    }

    /// Some of the room.
    final class Reservation: Sendable {
        private let budget: BodyBudget
        private let size: Int

        fileprivate init(_ budget: BodyBudget, _ size: Int) { (self.budget, self.size) = (budget, size) }

        deinit { budget.used.wrappingSubtract(size, ordering: .relaxed) }
    }
}
