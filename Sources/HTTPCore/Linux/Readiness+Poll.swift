import CDiffSystem

extension Readiness {
    /// What a descriptor is ready for now.
    static func present(of descriptor: Int32) -> Readiness {
        var ask = question(about: descriptor)
        poll(&ask, 1, 0)
        return answer(ask)
    }

    /// What each descriptor is ready for now.
    static func present(of descriptors: [Int32]) -> [Readiness] {
        var asks = descriptors.map(question)
        poll(&asks, nfds_t(asks.count), 0)
        return asks.map(answer)
    }

    private static func question(about descriptor: Int32) -> pollfd {
        #if os(Linux)
            let end = Int16(inputEnd.rawValue)  // POLLRDHUP, which the C library's module hides
        #else
            let end = Int16(0)
        #endif
        return pollfd(fd: descriptor, events: Int16(POLLIN) | Int16(POLLOUT) | end, revents: 0)
    }

    private static func answer(_ asked: pollfd) -> Readiness {
        let present = Readiness(rawValue: UInt16(bitPattern: asked.revents))
        #if os(Linux)
            return present
        #else
            // There POLLHUP says that one side has ended, and both may have.
            return present.contains(.hangup) ? present.subtracting(.hangup).union([.input, .inputEnd]) : present
        #endif
    }
}
