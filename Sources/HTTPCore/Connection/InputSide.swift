/// What is known of a socket's input: an edge is remembered until a read finds nothing left. A pure value.
enum InputSide: Equatable, Sendable {
    /// Nothing to read until the next edge.
    case drained
    case readable
    /// The peer has shut down its side: there may be more to read, and then the end.
    case hungUp(isReadable: Bool)
    /// A read has found the end.
    case ended

    var isReadable: Bool { self == .readable || self == .hungUp(isReadable: true) }

    var hasHungUp: Bool { self != .drained && self != .readable }

    /// An edge, or any other reason to read again.
    mutating func wake(_ readiness: Readiness = .input) {
        if self == .ended { return }
        let hangsUp = hasHungUp || !readiness.isDisjoint(with: [.inputEnd, .hangup])
        self = hangsUp ? .hungUp(isReadable: true) : .readable
    }

    /// - Parameter isLast: whether the read shows by its length that nothing is left. After a hang-up it does not: one
    ///   more read finds the end.
    mutating func took(_ result: Transfer, isLast: Bool) {
        switch result {
        case .moved: if isLast, self == .readable { self = .drained }
        case .blocked: self = hasHungUp ? .hungUp(isReadable: false) : .drained
        case .ended: self = .ended
        case .failed: break
        }
    }
}
