import CDiffSystem
import DiffClock
import Synchronization

/// A thread that waits for descriptors and runs their receivers, and the jobs handed over to it. The handle is
/// `Sendable`; everything that it runs is confined to its thread.
///
/// An iteration handles descriptor events, then jobs, then alarms, then the receivers marked meanwhile. So everything
/// that an endpoint did to other connections is written once, and requests to other servers leave last.
///
/// One commit may answer ten thousand held requests, and a client may pipeline as many on each connection. So events,
/// jobs and marks get one slice of the iteration each; the rest waits for the next one, behind new events. Receivers
/// marked in this iteration run before those left over: a single request never waits behind a crowd.
public final class EventLoop: WorkExecutor {
    /// Its number within the server, from 0; -1 for a loop without a server.
    public let index: Int
    /// Its number, or its purpose in a few letters.
    public let name: String

    let poller: Poller
    private let thread = Atomic<UInt>(0)
    private let kernelThread = Atomic<Int32>(0)
    private let isStopping = Atomic<Bool>(false)
    /// Nil once the loop has ended.
    private let jobs = Locked<[@Sendable () -> Void]?>([])
    /// How many iterations have begun; written by the loop only.
    private let iterationCount = Atomic<Int>(0)
    /// The latest request, and the iteration that it came in. Exchanging the reference takes ownership, without a lock.
    private nonisolated(unsafe) let currentRequest = Atomic<Unmanaged<RequestHead.Parts>?>(nil)
    private let currentRequestIteration = Atomic<Int>(0)
    let confined: Confined

    /// State that only the loop's thread touches.
    final class Confined: @unchecked Sendable {
        let wheel = TimerWheel(now: .now)
        var now = Instant.now
        var wallClock = 0
        /// Events with their receivers: by the time an event is handled, its descriptor may belong to something else.
        var events = Queue<(receiver: any EventReceiver, readiness: Readiness)>()
        var jobs = Queue<@Sendable () -> Void>()
        var due = Queue<Alarm>()
        var marked = Queue<any IterationEndReceiver>()
        /// Receivers marked in this iteration, and those left over from earlier ones. Each queue has its own slice.
        var fresh = Queue<any IterationEndReceiver>()
        var left = Queue<any IterationEndReceiver>()
        var last: [any IterationEndReceiver] = []
        /// By descriptor. An event that outlived its own finds nothing, or at worst a receiver that reads in vain.
        var watched: [(any EventReceiver)?] = []
        lazy var resources = LoopResources()
        var isIdle: Bool {
            marked.isEmpty && left.isEmpty && last.isEmpty && jobs.isEmpty && due.isEmpty && events.isEmpty
        }
    }

    init(index: Int, named name: String? = nil, polling: Polling) throws(ListenError) {
        (self.index, self.name) = (index, name ?? "\(index)")
        poller = try Poller(polling)
        confined = Confined()
    }

    deinit { currentRequest.exchange(nil, ordering: .acquiring)?.release() }

    /// Whether the caller runs on this loop.
    public var isCurrent: Bool { thread.load(ordering: .relaxed) == UInt(pthread_self()) }

    /// Runs `work` on the loop soon; calls from one thread keep their order. A loop that has ended drops it at once.
    public func execute(_ work: @escaping @Sendable () -> Void) {
        let wasEmpty = jobs.withLock { jobs in
            jobs?.append(work)
            return jobs?.count == 1
        }
        if wasEmpty { wake() }
    }

    /// Runs `work` on the loop: at once if the caller is on it, else soon.
    public func perform(_ work: @escaping @Sendable () -> Void) {
        if isCurrent { work() } else { execute(work) }
    }

    /// Runs `work` on the loop after `delay`: never early, and a few milliseconds late at most. From any thread.
    @discardableResult
    public func schedule(after delay: Duration, _ work: @escaping @Sendable () -> Void) -> Timer {
        let timer = Timer(loop: self, work)
        let due = Instant.now + delay
        if isCurrent {
            confined.wheel.arm(timer.alarm, at: due)
        } else {
            execute { [self] in if !timer.isCancelled { confined.wheel.arm(timer.alarm, at: due) } }
        }
        return timer
    }

    /// A loop without a server, which runs until `end`.
    public static func standalone(named name: String? = nil, polling: Polling) throws(ListenError) -> EventLoop {
        let loop = try EventLoop(index: -1, named: name, polling: polling)
        loop.start()
        return loop
    }

    func start() { SystemThread.start(named: "loop \(name)") { self.run() } }

    /// Ends the loop after the jobs handed over so far.
    public func end() { execute { self.isStopping.store(true, ordering: .relaxed) } }

    var iterations: Int { iterationCount.load(ordering: .relaxed) }

    /// The latest request, if it came in this iteration. From any thread.
    func request(inIteration iteration: Int) -> RequestHead? {
        guard let current = currentRequest.exchange(nil, ordering: .acquiring) else { return nil }
        let head = RequestHead(parts: current.takeUnretainedValue())
        let isBack = currentRequest.compareExchange(expected: nil, desired: current, ordering: .releasing).exchanged
        if !isBack { current.release() }
        return isBack && currentRequestIteration.load(ordering: .relaxed) == iteration ? head : nil
    }

    /// Whether the loop has been told to end. From any thread.
    var isEnding: Bool { isStopping.load(ordering: .relaxed) }

    /// Starts another iteration of the loop. From any thread.
    func wake() { poller.wake() }
}

/// Receives the events of a descriptor.
protocol EventReceiver: AnyObject {
    func receive(_ readiness: Readiness)
}

/// A receiver that continues at the end of an iteration in which it was marked.
protocol IterationEndReceiver: AnyObject {
    /// Set and cleared by the loop.
    var isMarked: Bool { get set }
    func iterationEnds()
}

/// On the loop only.
extension EventLoop {
    /// When this iteration began.
    var now: Instant { confined.now }
    /// The time when this iteration began, in seconds since 1970.
    var wallClock: Int { confined.wallClock }

    /// What the loop's connections share; made for the first one.
    var resources: LoopResources { confined.resources }

    func arm(_ alarm: Alarm, at due: Instant) { confined.wheel.arm(alarm, at: due) }
    func disarm(_ alarm: Alarm) { confined.wheel.disarm(alarm) }

    /// Records which request the loop is about to work on.
    func beginWork(on head: RequestHead) {
        currentRequestIteration.store(iterations, ordering: .relaxed)
        currentRequest.exchange(.passRetained(head.parts), ordering: .acquiringAndReleasing)?.release()
    }

    /// Runs `receiver` once at the end of this iteration, however often it is marked; `isLast` puts it behind others.
    func mark(_ receiver: any IterationEndReceiver, asLast isLast: Bool = false) {
        guard !receiver.isMarked else { return }
        receiver.isMarked = true
        if isLast { confined.last.append(receiver) } else { confined.marked.append(receiver) }
    }

    private func run() {
        adoptThread()
        ThreadPriority.preferLatency()
        defer {
            // Released after the assignment: this may be the last reference to a connection, and its release closes it.
            _ = exchange(&confined.watched, with: [])
            thread.store(0, ordering: .relaxed)
        }
        while !isStopping.load(ordering: .relaxed) {
            let polled = poller.wait(until: confined.isIdle ? confined.wheel.nextDue() : .past)
            iterate(at: .now, wallClock: Instant.wallClockSeconds) {
                if polled.isWoken { takeJobs() }
                for event in polled.events {
                    if let receiver = receiver(of: event.descriptor) {
                        confined.events.append((receiver, event.readiness))
                    }
                }
            }
        }
        // Late jobs still run: others may be waiting for their results.
        repeat {
            runJobs()
            jobs.withLock { if $0?.isEmpty == true { $0 = nil } }
        } while jobs.withLock { $0 != nil }
    }

    /// One iteration. A test supplies the clock and the events.
    func iterate(at now: Instant, wallClock: Int = 0, events: () -> Void = {}, clock: () -> Instant = { .now }) {
        iterationCount.store(iterations &+ 1, ordering: .relaxed)
        confined.now = now
        confined.wallClock = wallClock
        events()
        confined.events.work(clock) { $0.receiver.receive($0.readiness) }
        confined.jobs.work(clock) { $0() }
        confined.due.append(contentsOf: confined.wheel.expired(by: now))
        confined.due.work(clock) { $0.fire() }
        endIteration(clock)
    }

    func adoptThread() {
        thread.store(UInt(pthread_self()), ordering: .relaxed)
        kernelThread.store(current_thread(), ordering: .relaxed)
    }

    /// How many nanoseconds the thread was ready but had no processor; 0 if unknown.
    var runDelay: Int64 { KernelThread.runDelay(of: kernelThread.load(ordering: .relaxed)) }

    private func takeJobs() { confined.jobs.append(contentsOf: jobs.withLock { exchange(&$0, with: []) } ?? []) }

    func runJobs() {
        takeJobs()
        while let job = confined.jobs.popFirst() { job() }
    }

    private func endIteration(_ clock: () -> Instant) {
        // Receivers that mark themselves again wait for the next iteration, or they would starve the others.
        swap(&confined.marked, &confined.fresh)
        confined.fresh.work(clock, Self.resume)
        confined.left.work(clock, Self.resume)
        while let receiver = confined.fresh.popFirst() { confined.left.append(receiver) }
        guard !confined.last.isEmpty else { return }
        exchange(&confined.last, with: []).forEach(Self.resume)
    }

    private static func resume(_ receiver: any IterationEndReceiver) {
        receiver.isMarked = false
        receiver.iterationEnds()
    }

    /// Watches a descriptor; false if the kernel has no memory for it.
    func watch(_ descriptor: Int32, _ receiver: any EventReceiver, for interest: Interest) -> Bool {
        guard poller.add(descriptor, for: interest) else { return false }
        while confined.watched.count <= Int(descriptor) { confined.watched.append(nil) }
        confined.watched[Int(descriptor)] = receiver
        return true
    }

    @discardableResult
    func rewatch(_ descriptor: Int32, for interest: Interest) -> Bool { poller.change(descriptor, to: interest) }

    func receiver(of descriptor: Int32) -> (any EventReceiver)? {
        descriptor >= 0 && Int(descriptor) < confined.watched.count ? confined.watched[Int(descriptor)] : nil
    }

    /// Stops watching a descriptor that stays open.
    func unwatch(_ descriptor: Int32) {
        forget(descriptor)
        poller.remove(descriptor)
    }

    /// Closes a descriptor, watched or not. A watched descriptor must be closed here, or unwatched first.
    func close(_ descriptor: Int32) {
        forget(descriptor)
        CDiffSystem.close(descriptor)
    }

    private func forget(_ descriptor: Int32) {
        if descriptor >= 0, Int(descriptor) < confined.watched.count { confined.watched[Int(descriptor)] = nil }
    }
}

/// Watches a descriptor for a library that does its own reading and writing: it is called again for as long as the
/// descriptor is ready. Confined to the loop.
///
/// The kernel reports it again only once an event is handled, or a busy loop would queue one in every iteration.
public final class DescriptorWatch: EventReceiver {
    private let descriptor: Int32
    private let loop: EventLoop
    private let isReady: (Readiness) -> Void
    private var isWatched = false
    private var awaited: Readiness = []

    /// A watch that waits for nothing yet.
    public init(_ descriptor: Int32, on loop: EventLoop, _ isReady: @escaping (Readiness) -> Void) {
        (self.descriptor, self.loop, self.isReady) = (descriptor, loop, isReady)
    }

    /// Waits for these from now on; false if the kernel has no memory for the descriptor.
    public func wait(for readiness: Readiness) -> Bool {
        precondition(loop.isCurrent, "confined to its loop")
        awaited = readiness
        guard isWatched else {
            isWatched = loop.watch(descriptor, self, for: .once(awaited))
            return isWatched
        }
        return loop.rewatch(descriptor, for: .once(awaited))
    }

    /// Ends the watch. Call it before closing the descriptor.
    public func end() {
        guard exchange(&isWatched, with: false) else { return }
        loop.unwatch(descriptor)
    }

    func receive(_ readiness: Readiness) {
        guard isWatched else { return }
        isReady(readiness)
        if isWatched { loop.rewatch(descriptor, for: .once(awaited)) }
    }
}

extension Queue {
    /// The length of a slice of work, in nanoseconds. An iteration has at most five.
    private static var slice: Int64 { 2_000_000 }
    /// How many elements are handled between readings of the clock, which cost as much as the cheapest element.
    private static var stride: Int { 16 }

    /// Removes elements and handles them until the slice is over. `action` must not touch this queue.
    mutating func work(_ clock: () -> Instant, _ action: (Element) -> Void) {
        guard !isEmpty else { return }
        let end = count > Self.stride ? clock() + Self.slice : nil
        var done = 0
        while let element = popFirst() {
            action(element)
            done += 1
            if done % Self.stride == 0, let end, clock() >= end { return }
        }
    }
}
