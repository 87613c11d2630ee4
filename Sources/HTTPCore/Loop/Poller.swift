import CDiffSystem
import DiffClock

/// What a descriptor is ready for, or watched for, in the bits of poll(2) and epoll(7).
public struct Readiness: OptionSet, Sendable, Hashable {
    /// The bits.
    public let rawValue: UInt16

    /// Readiness from its bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Ready to read, or to accept.
    public static let input = Readiness(rawValue: 0x1)
    /// Ready to write.
    public static let output = Readiness(rawValue: 0x4)
    /// Failed, or hung up by the peer. Always reported.
    public static let failure: Readiness = [.error, .hangup]

    /// Failed.
    static let error = Readiness(rawValue: 0x8)
    /// Neither side sends any more.
    static let hangup = Readiness(rawValue: 0x10)
    /// The peer sends no more. Reported only for edges.
    static let inputEnd = Readiness(rawValue: 0x2000)
}

/// What a descriptor is watched for, and how often it is reported: the kinds in use, not flags to combine.
enum Interest {
    /// A listening socket: reported while there is a connection to accept. `isShared`: not every loop is told.
    case connections(isShared: Bool)
    /// Input, and optionally room to write: reported when it comes, or is there when the interest is set or changed.
    case edges(forOutput: Bool)
    /// Reported once, then not again until the interest is set anew.
    case once(Readiness)
}

extension epoll_event {
    var descriptor: Int32 { data.fd }
    var readiness: Readiness { Readiness(rawValue: UInt16(truncatingIfNeeded: events)) }
}

/// How a loop waits for its descriptors.
public enum Polling: String, Sendable, CaseIterable {
    /// In epoll_wait(2).
    case epoll
    /// For a Dispatch source that watches the epoll descriptor: a quarter more instructions for the smallest request.
    case dispatch

    /// The cheapest.
    public static var preferred: Polling { .epoll }
}

/// Waits for descriptors, by epoll(7), and is woken by an eventfd. Confined to its loop, except for `wake`.
///
/// The kernel keeps the edges, so a connection needs one system call when it comes, and none per request or at its end.
final class Poller: @unchecked Sendable {
    private let epoll: Int32
    private let wakeup: Int32
    /// Nil if the loop waits in epoll_wait(2) itself.
    private let dispatch: DispatchWait?
    private let found = UnsafeMutablePointer<epoll_event>.allocate(capacity: maxEvents)
    /// Events of one wait; more are reported by the next.
    private static var maxEvents: Int { 256 }

    init(_ polling: Polling) throws(ListenError) {
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        wakeup = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        dispatch = polling == .dispatch && epoll >= 0 && wakeup >= 0 ? DispatchWait(epoll) : nil
        guard epoll >= 0, wakeup >= 0, control(EPOLL_CTL_ADD, wakeup, EPOLLIN.rawValue) else {
            let error = errno
            // Everything is initialized, so `deinit` frees it.
            throw ListenError(address: "event loop", reason: String(cString: strerror(error)))
        }
    }

    deinit {
        if dispatch == nil, epoll >= 0 { CDiffSystem.close(epoll) }
        if wakeup >= 0 { CDiffSystem.close(wakeup) }
        found.deallocate()
    }

    /// Watches a descriptor; false if the kernel has no memory for it.
    func add(_ descriptor: Int32, for interest: Interest) -> Bool {
        control(EPOLL_CTL_ADD, descriptor, Self.bits(interest))
    }

    /// Changes the interest in a descriptor, or sets it anew.
    func change(_ descriptor: Int32, to interest: Interest) -> Bool {
        control(EPOLL_CTL_MOD, descriptor, Self.bits(interest))
    }

    func remove(_ descriptor: Int32) { _ = control(EPOLL_CTL_DEL, descriptor, 0) }

    /// Events, valid until the next wait. `wake` is one, too, of a descriptor that nobody watches.
    typealias Polled = (events: UnsafeBufferPointer<epoll_event>, isWoken: Bool)

    /// Waits for an event, `wake` or the deadline. A signal may end the wait early, without events.
    func wait(until deadline: Instant) -> Polled {
        guard let dispatch else { return take(until: deadline) }
        while true {
            let polled = take(until: .past)
            guard polled.events.isEmpty, Instant.now < deadline else { return polled }
            dispatch.wait(until: deadline)
        }
    }

    private func take(until deadline: Instant) -> Polled {
        let count = epoll_wait(epoll, found, Int32(Self.maxEvents), Self.milliseconds(until: deadline))
        let events = UnsafeBufferPointer(start: found, count: max(0, Int(count)))
        let isWoken = events.contains { $0.descriptor == wakeup }
        if isWoken {
            var calls: UInt64 = 0
            _ = read(wakeup, &calls, 8)
        }
        return (events, isWoken)
    }

    /// Ends the present wait, or the next. From any thread.
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

    /// Rounds up. The clock lags by a tick at most, so a wait may end that much late, but never early.
    private static func milliseconds(until deadline: Instant) -> Int32 {
        if deadline == .never { return -1 }
        if deadline == .past { return 0 }
        let left = deadline.nanoseconds &- Instant.lastTick.nanoseconds
        return left <= 0 ? 0 : Int32(truncatingIfNeeded: min((UInt64(left) &+ 999_999) / 1_000_000, 1 << 30))
    }
}
