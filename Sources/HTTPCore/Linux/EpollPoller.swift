// The default on Linux. `DispatchPoller` would serve every system; this one pays for itself, because a request costs a
// third less than with one Dispatch source for the epoll descriptor, and half as much as with a source per connection.
// Compared with `DispatchPoller` as it is, a lone `GET /livez` takes 9 µs of processor time instead of 48, and one
// among 64 connections 7.5 µs instead of 21.
//
// The kernel keeps the edges. So a connection needs one system call when it comes and none per request, and closing it
// needs none: the kernel forgets a descriptor that nobody holds.

#if os(Linux)
    import CDiffSystem
    import DiffClock

    /// Waits in `epoll_wait`, and is woken by an eventfd.
    final class EpollPoller: Poller, @unchecked Sendable {
        private let epoll: Int32
        private let wakeup: Int32
        private let found = UnsafeMutablePointer<epoll_event>.allocate(capacity: maxEvents)
        private let events = UnsafeMutablePointer<PolledEvent>.allocate(capacity: maxEvents)

        /// Events of one wait; more are reported by the next.
        private static var maxEvents: Int { 256 }

        init() throws(ListenError) {
            epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
            wakeup = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
            guard epoll >= 0, wakeup >= 0, control(EPOLL_CTL_ADD, wakeup, EPOLLIN.rawValue) else {
                let error = errno
                // Everything is initialized, so `deinit` frees it.
                throw ListenError(address: "event loop", reason: String(cString: strerror(error)))
            }
        }

        deinit {
            if epoll >= 0 { CDiffSystem.close(epoll) }
            if wakeup >= 0 { CDiffSystem.close(wakeup) }
            found.deallocate()
            events.deallocate()
        }

        var reportsLevels: Bool { false }

        func add(_ descriptor: Int32, for interest: Interest) -> Bool {
            control(EPOLL_CTL_ADD, descriptor, Self.bits(interest))
        }

        func change(_ descriptor: Int32, to interest: Interest) -> Bool {
            control(EPOLL_CTL_MOD, descriptor, Self.bits(interest))
        }

        func drained(_ descriptor: Int32, of direction: Readiness) {}

        func remove(_ descriptor: Int32) { _ = control(EPOLL_CTL_DEL, descriptor, 0) }

        func close(_ descriptor: Int32) { CDiffSystem.close(descriptor) }

        func wait(until deadline: Instant) -> Polled {
            let count = epoll_wait(epoll, found, Int32(Self.maxEvents), Self.milliseconds(until: deadline))
            var kept = 0
            var isWoken = false
            var index = 0
            while index < Int(count) {
                let (descriptor, bits) = (found[index].data.fd, found[index].events)
                index &+= 1
                if descriptor == wakeup {
                    isWoken = true
                    continue
                }
                events[kept] = PolledEvent(
                    descriptor: descriptor, readiness: Readiness(rawValue: UInt16(truncatingIfNeeded: bits)))
                kept &+= 1
            }
            if isWoken {
                var calls: UInt64 = 0
                _ = read(wakeup, &calls, 8)
            }
            return Polled(events: UnsafeBufferPointer(start: events, count: kept), isWoken: isWoken)
        }

        func wake() {
            var one: UInt64 = 1
            _ = write(wakeup, &one, 8)
        }

        private func control(_ operation: Int32, _ descriptor: Int32, _ bits: UInt32) -> Bool {
            var event = epoll_event(events: bits, data: epoll_data_t(fd: descriptor))
            return epoll_ctl(epoll, operation, descriptor, &event) == 0
        }

        private static func bits(_ interest: Interest) -> UInt32 {
            switch interest {
            case .connections(let isShared): EPOLLIN.rawValue | (isShared ? EPOLLEXCLUSIVE.rawValue : 0)
            case .edges(let forOutput):
                EPOLLIN.rawValue | EPOLLRDHUP.rawValue | EPOLLET.rawValue | (forOutput ? EPOLLOUT.rawValue : 0)
            case .once(let readiness): UInt32(readiness.rawValue) | EPOLLONESHOT.rawValue
            }
        }

        /// Rounded up. The clock lags by a tick at most, so a wait may end that much late, but never early.
        private static func milliseconds(until deadline: Instant) -> Int32 {
            if deadline == .never { return -1 }
            if deadline == .past { return 0 }
            let left = deadline.nanoseconds &- Instant.lastTick.nanoseconds
            return left <= 0 ? 0 : Int32(truncatingIfNeeded: min((UInt64(left) &+ 999_999) / 1_000_000, 1 << 30))
        }
    }
#endif
