import CSystem
import Glibc
import Synchronization

/// One thread of events: an epoll descriptor, the connections registered with it, and work that was handed over.
///
/// The handle is `Sendable`; what it runs is confined to the loop's thread, which waits in `epoll_wait`: measured, that
/// costs a third less a request than one Dispatch source for the epoll descriptor and half of one source for each
/// connection.
///
/// Order of one turn: events of descriptors, work handed over, alarms, then the connections that were marked on the
/// way. So what an endpoint did to other connections in this turn is written once, at its end; and what all of them
/// want from another server, last.
///
/// One commit may answer ten thousand held requests, and one client may pipeline as many on each of its connections, so
/// events, work handed over and marked connections get a slice of the turn each, and what is left then waits for the
/// next one, behind the events that came meanwhile. Connections that were marked in the turn have a slice of their own
/// before those that are left over: who comes by himself never stands behind a crowd.
public final class EventLoop: Sendable {
    /// Which loop of its server this is, from 0; -1 for one of no server.
    public let index: Int

    let epoll: Int32
    private let wakeup: Int32
    private let thread = Atomic<UInt>(0)
    /// The same as the kernel calls it.
    private let kernelThread = Atomic<Int32>(0)
    private let isStopping = Atomic<Bool>(false)
    private let jobs = Locked<[@Sendable () -> Void]>([])
    /// How many turns began; nobody but the loop writes it.
    private let turnCount = Atomic<Int>(0)
    /// The request that was looked at last, and in which turn. Who exchanges it owns what was there: so the loop takes
    /// no lock for it.
    private let subject = Atomic<Unmanaged<RequestHead.Parts>?>(nil)
    private let subjectTurn = Atomic<Int>(0)
    private let confined: Confined

    /// What only the loop's own thread touches.
    private final class Confined: @unchecked Sendable {
        let wheel = TimerWheel(now: .now())
        var now = Instant.now()
        @exclusivity(unchecked) var date = DateField()
        /// What the kernel told. With the receivers: a descriptor may be another's by the time that its turn comes.
        @exclusivity(unchecked) var events = Backlog<(receiver: any EventReceiver, events: UInt32)>()
        /// Handed over, in order.
        @exclusivity(unchecked) var jobs = Backlog<@Sendable () -> Void>()
        /// Alarms that are due.
        @exclusivity(unchecked) var due = Backlog<Alarm>()
        @exclusivity(unchecked) var marked = Backlog<Connection>()
        /// Those that were marked before this turn's end, which are advanced now, and those that were left over by
        /// earlier turns. Both have a slice.
        @exclusivity(unchecked) var fresh = Backlog<Connection>()
        @exclusivity(unchecked) var left = Backlog<Connection>()
        @exclusivity(unchecked) var outgoing: [OutgoingConnection] = []
        /// By descriptor: they are small and dense, and an event that outlived its descriptor finds nobody, or at worst
        /// another connection, which then reads in vain.
        @exclusivity(unchecked) var watched: [(any EventReceiver)?] = []
        @exclusivity(unchecked) var spareBuffers: [OutputBuffer] = []
        @exclusivity(unchecked) var spareInput: [[UInt8]] = []
        lazy var deflater = Deflater()
        /// Whether there is nothing to do before something happens.
        var isIdle: Bool {
            marked.isEmpty && left.isEmpty && outgoing.isEmpty && jobs.isEmpty && due.isEmpty && events.isEmpty
        }
        let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: EventLoop.scratchBytes, alignment: 64)

        deinit { scratch.deallocate() }
    }

    /// Room to read into: what a connection may have kept from its last read, and one more read behind it.
    static let scratchBytes = 256 * 1024

    /// How many empty buffers of each kind are kept, and how large one may be.
    private static let spares = 64
    private static let largestSpare = 64 * 1024

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
        subject.exchange(nil, ordering: .acquiring)?.release()
        close(epoll)
        close(wakeup)
    }

    /// Whether the caller runs on this loop.
    public var isCurrent: Bool { thread.load(ordering: .relaxed) == UInt(pthread_self()) }

    /// Runs `work` on the loop, soon. In the order of the calls of one thread.
    public func execute(_ work: @escaping @Sendable () -> Void) {
        let wasEmpty = jobs.withLock { jobs in
            jobs.append(work)
            return jobs.count == 1
        }
        if wasEmpty { wake() }
    }

    /// Runs `work` on the loop after `delay`, not before it and at most some milliseconds later. From any thread.
    @discardableResult
    public func schedule(after delay: Duration, _ work: @escaping @Sendable () -> Void) -> Timer {
        let timer = Timer(loop: self, work)
        let due = Instant.now() + delay
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

    /// Ends a loop of no server, behind the work that was handed over before.
    public func end() { stop() }

    func start() {
        SystemThread.start(named: "loop \(index)") { self.run() }
    }

    /// Ends the loop behind the work that was handed over before.
    func stop() {
        execute { self.isStopping.store(true, ordering: .relaxed) }
    }

    /// Turns that began. From any thread.
    var turns: Int { turnCount.load(ordering: .relaxed) }

    /// The request that the loop looked at last, if that was in this turn. From any thread.
    func request(inTurn turn: Int) -> RequestHead? {
        guard let taken = subject.exchange(nil, ordering: .acquiring) else { return nil }
        let head = RequestHead(parts: taken.takeUnretainedValue())
        let isBack = subject.compareExchange(expected: nil, desired: taken, ordering: .releasing).exchanged
        if !isBack { taken.release() }
        return isBack && subjectTurn.load(ordering: .relaxed) == turn ? head : nil
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

extension EventLoop {
    // MARK: On the loop only

    var now: Instant { confined.now }
    var dateLine: [UInt8] { confined.date.line }
    var scratch: UnsafeMutableRawBufferPointer { confined.scratch }

    var deflater: Deflater? { confined.deflater }

    func arm(_ alarm: Alarm, at due: Instant) { confined.wheel.arm(alarm, at: due) }
    func disarm(_ alarm: Alarm) { confined.wheel.disarm(alarm) }

    /// Says which request the loop is about to work for.
    func attend(to head: RequestHead) {
        subjectTurn.store(turns, ordering: .relaxed)
        subject.exchange(.passRetained(head.parts), ordering: .acquiringAndReleasing)?.release()
    }

    /// Has `connection` go on at the end of this turn. The connection sees to it that it is marked once.
    func mark(_ connection: Connection) { confined.marked.append(connection) }

    /// The same for a connection to another server.
    func mark(_ connection: OutgoingConnection) { confined.outgoing.append(connection) }

    /// An empty buffer for answers.
    func takeBuffer() -> OutputBuffer { confined.spareBuffers.popLast() ?? OutputBuffer() }

    /// Takes back a buffer, unless it grew large or there are enough: idle memory stays small.
    func giveBack(_ buffer: OutputBuffer) {
        guard buffer.capacity <= Self.largestSpare, confined.spareBuffers.count < Self.spares else { return }
        buffer.removeAll()
        confined.spareBuffers.append(buffer)
    }

    /// An empty array for input that has to be kept.
    func takeArray() -> [UInt8] { confined.spareInput.popLast() ?? [] }

    func giveBack(_ array: consuming [UInt8]) {
        guard array.capacity <= Self.largestSpare, confined.spareInput.count < Self.spares else { return }
        array.removeAll(keepingCapacity: true)
        confined.spareInput.append(array)
    }

    /// Registers a descriptor; false if the kernel has no room for it.
    func watch(_ descriptor: Int32, _ receiver: any EventReceiver, events: UInt32) -> Bool {
        var event = epoll_event(events: events, data: epoll_data_t(fd: descriptor))
        guard epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0 else { return false }
        while confined.watched.count <= Int(descriptor) { confined.watched.append(nil) }
        confined.watched[Int(descriptor)] = receiver
        return true
    }

    /// Who hears of a descriptor.
    func receiver(of descriptor: Int32) -> (any EventReceiver)? {
        descriptor >= 0 && Int(descriptor) < confined.watched.count ? confined.watched[Int(descriptor)] : nil
    }

    /// The edges of input that a connection watches.
    static let inputEdges = EPOLLIN.rawValue | EPOLLRDHUP.rawValue | EPOLLET.rawValue

    /// Has a connection that watches its input hear of room to write too. If there is room already, that is an edge.
    func watchForRoom(_ descriptor: Int32) {
        var event = epoll_event(events: Self.inputEdges | EPOLLOUT.rawValue, data: epoll_data_t(fd: descriptor))
        epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &event)
    }

    /// Has it hear of input only, again.
    func watchForInput(_ descriptor: Int32) {
        var event = epoll_event(events: Self.inputEdges, data: epoll_data_t(fd: descriptor))
        epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &event)
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
        ThreadShare.beLetInSoon()
        let capacity = 256
        let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: capacity)
        defer {
            events.deallocate()
            confined.watched = []
            thread.store(0, ordering: .relaxed)
        }
        while !isStopping.load(ordering: .relaxed) {
            let isIdle = confined.isIdle
            let patience = isIdle ? confined.wheel.sleepMilliseconds(now: .now()) : 0
            let count = epoll_wait(epoll, events, Int32(capacity), patience)
            turn(at: .now(), wallClock: Instant.wallClockSeconds()) {
                for index in 0..<max(0, Int(count)) { take(events[index]) }
            }
        }
        // Work that came too late would otherwise never run, and its promises would never be kept.
        runJobs()
    }

    /// One turn. Time is a parameter, so that a test can be the thread, the clock and the descriptors.
    func turn(at now: Instant, wallClock: Int = 0, events: () -> Void = {}, clock: () -> Instant = Instant.now) {
        turnCount.store(turns &+ 1, ordering: .relaxed)
        confined.now = now
        confined.date.update(wallClock)
        events()
        confined.events.work(clock) { $0.receiver.receive(events: $0.events) }
        confined.jobs.work(clock) { $0() }
        confined.due.append(contentsOf: confined.wheel.expired(by: now))
        confined.due.work(clock) { $0.ring() }
        advanceMarked(clock)
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
        confined.jobs.append(
            contentsOf: jobs.withLock { jobs in
                let batch = jobs
                jobs = []
                return batch
            })
    }

    /// Does all that was handed over.
    func runJobs() {
        takeJobs()
        while let job = confined.jobs.next() { job() }
    }

    private func advanceMarked(_ clock: () -> Instant) {
        // Those that are marked anew meanwhile wait for the next turn: a writer that is always ready must not starve
        // the others.
        swap(&confined.marked, &confined.fresh)
        confined.fresh.work(clock) { $0.advanceMarked() }
        confined.left.work(clock) { $0.advanceMarked() }
        while let connection = confined.fresh.next() { confined.left.append(connection) }
        guard !confined.outgoing.isEmpty else { return }
        let outgoing = confined.outgoing
        confined.outgoing.removeAll(keepingCapacity: true)
        for connection in outgoing { connection.advanceMarked() }
    }
}
