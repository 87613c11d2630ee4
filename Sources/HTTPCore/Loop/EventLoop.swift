import CDiffSystem
import Glibc
import Synchronization

/// One thread of events: an epoll descriptor, whoever hears of descriptors registered with it, and work that was handed
/// over.
///
/// The handle is `Sendable`; what it runs is confined to the loop's thread, which waits in `epoll_wait`: measured, that
/// costs a third less a request than one Dispatch source for the epoll descriptor and half of one source for each
/// connection.
///
/// Order of one turn: events of descriptors, work handed over, alarms, then whoever was marked on the way. So what an
/// endpoint did to other connections in this turn is written once, at its end; and what all of them want from another
/// server, last.
///
/// One commit may answer ten thousand held requests, and one client may pipeline as many on each of its connections, so
/// events, work handed over and marks get a slice of the turn each, and what is left then waits for the next one,
/// behind the events that came meanwhile. Who was marked in the turn has a slice before those that are left over: who
/// comes alone never stands behind a crowd.
public final class EventLoop: Sendable {
    /// Which loop of its server this is, from 0; -1 for one of no server.
    public let index: Int

    let epoll: Int32
    private let wakeup: Int32
    private let thread = Atomic<UInt>(0)
    /// The same as the kernel calls it.
    private let kernelThread = Atomic<Int32>(0)
    private let isStopping = Atomic<Bool>(false)
    /// Nil once the loop has ended.
    private let jobs = Locked<[@Sendable () -> Void]?>([])
    /// How many turns began; nobody but the loop writes it.
    private let turnCount = Atomic<Int>(0)
    /// The request that was looked at last, and in which turn. Who exchanges it owns what was there: so the loop takes
    /// no lock for it.
    private nonisolated(unsafe) let currentRequest = Atomic<Unmanaged<RequestHead.Parts>?>(nil)
    private let currentRequestTurn = Atomic<Int>(0)
    private let confined: Confined

    /// What only the loop's own thread touches.
    private final class Confined: @unchecked Sendable {
        let wheel = TimerWheel(now: .now)
        var now = Instant.now
        var wallClock = 0
        /// What the kernel told. With the receivers: a descriptor may be another's by the time that its turn comes.
        var events = Backlog<(receiver: any EventReceiver, events: UInt32)>()
        /// Handed over, in order.
        var jobs = Backlog<@Sendable () -> Void>()
        /// Alarms that are due.
        var due = Backlog<Alarm>()
        var marked = Backlog<any TurnEndReceiver>()
        /// Those that were marked before this turn's end, who go on now, and those that were left over by earlier
        /// turns. Both have a slice.
        var fresh = Backlog<any TurnEndReceiver>()
        var left = Backlog<any TurnEndReceiver>()
        var last: [any TurnEndReceiver] = []
        /// By descriptor: they are small and dense, and an event that outlived its descriptor finds nobody, or at worst
        /// another receiver, which then reads in vain.
        var watched: [(any EventReceiver)?] = []
        var attachment: AnyObject?
        /// Whether there is nothing to do before something happens.
        var isIdle: Bool {
            marked.isEmpty && left.isEmpty && last.isEmpty && jobs.isEmpty && due.isEmpty && events.isEmpty
        }
    }

    init(index: Int) throws(ListenError) {
        self.index = index
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        wakeup = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        confined = Confined()
        guard epoll >= 0, wakeup >= 0 else {
            let error = errno
            if epoll >= 0 { close(epoll) }
            throw ListenError(address: "event loop", reason: String(cString: strerror(error)))
        }
        var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(fd: wakeup))
        epoll_ctl(epoll, EPOLL_CTL_ADD, wakeup, &event)
    }

    deinit {
        currentRequest.exchange(nil, ordering: .acquiring)?.release()
        close(epoll)
        close(wakeup)
    }

    /// Whether the caller runs on this loop.
    public var isCurrent: Bool { thread.load(ordering: .relaxed) == UInt(pthread_self()) }

    /// Runs `work` on the loop, soon. In the order of the calls of one thread. Work for a loop that has ended is let go
    /// at once.
    public func execute(_ work: @escaping @Sendable () -> Void) {
        let wasEmpty = jobs.withLock { jobs in
            jobs?.append(work)
            return jobs?.count == 1
        }
        if wasEmpty { wake() }
    }

    /// Runs `work` on the loop: at once if the caller does, else soon.
    public func perform(_ work: @escaping @Sendable () -> Void) {
        if isCurrent { work() } else { execute(work) }
    }

    /// Runs `work` on the loop after `delay`, not before it and at most some milliseconds later. From any thread.
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

    /// A loop of no server, which runs until `end`.
    public static func standalone() throws(ListenError) -> EventLoop {
        let loop = try EventLoop(index: -1)
        loop.start()
        return loop
    }

    func start() {
        SystemThread.start(named: "loop \(index)") { self.run() }
    }

    /// Ends the loop behind the work that was handed over before.
    public func end() {
        execute { self.isStopping.store(true, ordering: .relaxed) }
    }

    /// Turns that began. From any thread.
    var turns: Int { turnCount.load(ordering: .relaxed) }

    /// The request that the loop looked at last, if that was in this turn. From any thread.
    func request(inTurn turn: Int) -> RequestHead? {
        guard let taken = currentRequest.exchange(nil, ordering: .acquiring) else { return nil }
        let head = RequestHead(parts: taken.takeUnretainedValue())
        let isBack = currentRequest.compareExchange(expected: nil, desired: taken, ordering: .releasing).exchanged
        if !isBack { taken.release() }
        return isBack && currentRequestTurn.load(ordering: .relaxed) == turn ? head : nil
    }

    /// Whether it was told to end, behind the work that it had. From any thread.
    var isEnding: Bool { isStopping.load(ordering: .relaxed) }

    /// Has the loop turn once more. From any thread.
    func wake() {
        var one: UInt64 = 1
        _ = write(wakeup, &one, 8)
    }
}

/// Something that hears of its descriptor.
protocol EventReceiver: AnyObject {
    func receive(events: UInt32)
}

/// Something that goes on at the end of a turn in which it was marked.
protocol TurnEndReceiver: AnyObject {
    func turnEnds()
}

extension EventLoop {
    // MARK: On the loop only

    /// When this turn began.
    var now: Instant { confined.now }
    /// The same in seconds since 1970.
    var wallClock: Int { confined.wallClock }

    /// What those who live on the loop share. The loop keeps it and knows nothing of it.
    var attachment: AnyObject? {
        get { confined.attachment }
        set { confined.attachment = newValue }
    }

    func arm(_ alarm: Alarm, at due: Instant) { confined.wheel.arm(alarm, at: due) }
    func disarm(_ alarm: Alarm) { confined.wheel.disarm(alarm) }

    /// Says which request the loop is about to work for.
    func beginWork(on head: RequestHead) {
        currentRequestTurn.store(turns, ordering: .relaxed)
        currentRequest.exchange(.passRetained(head.parts), ordering: .acquiringAndReleasing)?.release()
    }

    /// Has `receiver` go on at the end of this turn. The receiver sees to it that it is marked once.
    func mark(_ receiver: any TurnEndReceiver) { confined.marked.append(receiver) }

    /// The same behind all others of the turn.
    func markLast(_ receiver: any TurnEndReceiver) { confined.last.append(receiver) }

    /// Registers a descriptor; false if the kernel has no room for it.
    func watch(_ descriptor: Int32, _ receiver: any EventReceiver, events: UInt32) -> Bool {
        var event = epoll_event(events: events, data: epoll_data_t(fd: descriptor))
        guard epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0 else { return false }
        while confined.watched.count <= Int(descriptor) { confined.watched.append(nil) }
        confined.watched[Int(descriptor)] = receiver
        return true
    }

    /// Watches a descriptor that is registered for other events than before.
    func rewatch(_ descriptor: Int32, events: UInt32) -> Bool {
        var event = epoll_event(events: events, data: epoll_data_t(fd: descriptor))
        return epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &event) == 0
    }

    /// Who hears of a descriptor.
    func receiver(of descriptor: Int32) -> (any EventReceiver)? {
        descriptor >= 0 && Int(descriptor) < confined.watched.count ? confined.watched[Int(descriptor)] : nil
    }

    /// Edges of input, and of room to write where that is wanted.
    static func edges(forOutput: Bool) -> UInt32 {
        EPOLLIN.rawValue | EPOLLRDHUP.rawValue | EPOLLET.rawValue | (forOutput ? EPOLLOUT.rawValue : 0)
    }

    /// Registers a descriptor for edges; false if the kernel has no room for it.
    func watch(_ descriptor: Int32, _ receiver: any EventReceiver, forOutput: Bool) -> Bool {
        watch(descriptor, receiver, events: Self.edges(forOutput: forOutput))
    }

    /// Has whoever watches for edges hear of room to write too, or no more. If there is room already, that is an edge.
    func watch(_ descriptor: Int32, forOutput: Bool) {
        _ = rewatch(descriptor, events: Self.edges(forOutput: forOutput))
    }

    /// Forgets a descriptor that is about to be closed; the kernel then forgets it too.
    func forget(_ descriptor: Int32) {
        if descriptor >= 0, Int(descriptor) < confined.watched.count { confined.watched[Int(descriptor)] = nil }
    }

    /// Stops listening to a descriptor that stays open.
    func unwatch(_ descriptor: Int32) {
        forget(descriptor)
        var event = epoll_event()
        epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, &event)
    }

    private func run() {
        adoptThread()
        ThreadPriority.preferLatency()
        let capacity = 256
        let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: capacity)
        defer {
            events.deallocate()
            confined.watched = []
            thread.store(0, ordering: .relaxed)
        }
        while !isStopping.load(ordering: .relaxed) {
            let isIdle = confined.isIdle
            let timeout = isIdle ? confined.wheel.sleepMilliseconds(now: .lastTick) : 0
            let count = epoll_wait(epoll, events, Int32(capacity), timeout)
            turn(at: .now, wallClock: Instant.wallClockSeconds) {
                for index in 0..<max(0, Int(count)) { take(events[index]) }
            }
        }
        // Work that came too late would otherwise never run, and its promises would never be kept.
        var hasEnded = false
        while !hasEnded {
            runJobs()
            hasEnded = jobs.withLock { jobs in
                if jobs?.isEmpty == true { jobs = nil }
                return jobs == nil
            }
        }
    }

    /// One turn. Time is a parameter, so that a test can be the thread, the clock and the descriptors.
    func turn(at now: Instant, wallClock: Int = 0, events: () -> Void = {}, clock: () -> Instant = { .now }) {
        turnCount.store(turns &+ 1, ordering: .relaxed)
        confined.now = now
        confined.wallClock = wallClock
        events()
        confined.events.work(clock) { $0.receiver.receive(events: $0.events) }
        confined.jobs.work(clock) { $0() }
        confined.due.append(contentsOf: confined.wheel.expired(by: now))
        confined.due.work(clock) { $0.fire() }
        endTurn(clock)
    }

    /// Makes the caller's thread the loop's.
    func adoptThread() {
        thread.store(UInt(pthread_self()), ordering: .relaxed)
        kernelThread.store(current_thread(), ordering: .relaxed)
    }

    /// Nanoseconds for which the loop's thread was ready to run and had no processor (the second number of
    /// `schedstat`); 0 where the system does not say.
    var runDelay: Int64 {
        let file = open("/proc/self/task/\(kernelThread.load(ordering: .relaxed))/schedstat", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return 0 }
        defer { close(file) }
        var room = [UInt8](repeating: 0, count: 64)
        let count = read(file, &room, room.count)
        let fields = String(decoding: room.prefix(max(0, count)), as: UTF8.self).split(separator: " ")
        return fields.count > 1 ? Int64(fields[1]) ?? 0 : 0
    }

    private func take(_ event: epoll_event) {
        if event.data.fd == wakeup {
            var count: UInt64 = 0
            _ = read(wakeup, &count, 8)
            takeJobs()
        } else if Int(event.data.fd) < confined.watched.count, let receiver = confined.watched[Int(event.data.fd)] {
            confined.events.append((receiver, event.events))
        }
    }

    private func takeJobs() {
        confined.jobs.append(contentsOf: jobs.withLock { exchange(&$0, with: []) } ?? [])
    }

    /// Does all that was handed over.
    func runJobs() {
        takeJobs()
        while let job = confined.jobs.next() { job() }
    }

    private func endTurn(_ clock: () -> Instant) {
        // Those that are marked anew meanwhile wait for the next turn: a writer that is always ready must not starve
        // the others.
        swap(&confined.marked, &confined.fresh)
        confined.fresh.work(clock) { $0.turnEnds() }
        confined.left.work(clock) { $0.turnEnds() }
        while let receiver = confined.fresh.next() { confined.left.append(receiver) }
        guard !confined.last.isEmpty else { return }
        let last = confined.last
        confined.last.removeAll(keepingCapacity: true)
        for receiver in last { receiver.turnEnds() }
    }
}
