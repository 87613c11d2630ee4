// The seam between a loop and the system. A poller says which descriptors are ready, and can be woken; receivers, jobs
// and alarms are the loop's alone. There are two: `EpollPoller`, and `DispatchPoller` where there is no epoll.
//
// A loop asks once a turn and gets an array, so the call through the protocol costs nothing measurable. Interests are
// the three in use, not flags to combine: each poller has to support each of them.

import DiffClock

/// What a descriptor is ready for, or watched for.
///
/// The bits are those of poll(2) and epoll(7), so nothing has to be translated.
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

/// What a descriptor is watched for, and how often it is reported.
enum Interest: Equatable {
    /// A listening socket: reported in each wait in which there is a connection to accept. With `isShared`, several
    /// loops watch it, and few of them need to be told.
    case connections(isShared: Bool)
    /// Input, and optionally room to write: reported once when it comes, and again when more comes after it was drained
    /// (`Poller.drained`). What is there at first or at a change counts, too. The end of the input and a failure are
    /// reported even behind undrained input, though perhaps late.
    case edges(forOutput: Bool)
    /// Reported once, then not again until the interest is set anew.
    case once(Readiness)
}

/// Something that a poller saw.
struct PolledEvent {
    let descriptor: Int32
    let readiness: Readiness
}

/// What a wait found.
struct Polled {
    /// Valid until the next wait.
    let events: UnsafeBufferPointer<PolledEvent>
    /// Whether `wake` was called since the last wait.
    let isWoken: Bool
}

/// Waits for descriptors. Confined to its loop, except for `wake`.
protocol Poller: AnyObject, Sendable {
    /// Whether `drained` has to be called.
    var reportsLevels: Bool { get }
    /// Watches a descriptor; false if the kernel has no memory for it.
    func add(_ descriptor: Int32, for interest: Interest) -> Bool
    /// Watches it for something else, or once more.
    func change(_ descriptor: Int32, to interest: Interest) -> Bool
    /// Notes that a descriptor watched for edges has no more input or no more room.
    func drained(_ descriptor: Int32, of direction: Readiness)
    /// Stops watching a descriptor. On return it belongs to its owner alone, who may close it.
    func remove(_ descriptor: Int32)
    /// Stops watching a descriptor and closes it, at once or soon. Also closes one that was never watched.
    func close(_ descriptor: Int32)
    /// Waits for an event, `wake` or the deadline: `.never` waits for ever, a past one not at all. A signal may end the
    /// wait early, without events.
    func wait(until deadline: Instant) -> Polled
    /// Ends the present wait, or the next. From any thread.
    func wake()
}

/// How a loop waits for its descriptors.
public enum Polling: String, Sendable, CaseIterable {
    #if os(Linux)
        /// epoll(7).
        case epoll
    #endif
    /// Two Dispatch sources for each descriptor: works on every system, but a request costs several times as much.
    case dispatch

    /// The cheapest on this system.
    public static var preferred: Polling { allCases[0] }

    func poller() throws(ListenError) -> any Poller {
        switch self {
        #if os(Linux)
            case .epoll: try EpollPoller()
        #endif
        case .dispatch: DispatchPoller()
        }
    }
}
