// A source for each descriptor and direction. Its handler suspends it and puts it into a box. The loop empties the box,
// asks poll(2) what each of these descriptors is ready for, and resumes a source when it wants to hear from it again.
// So a descriptor that is ready but not wanted costs nothing, although sources report levels, not edges.
//
// Dispatch may look at a descriptor until the source's cancel handler has run. So the last cancel handler closes the
// descriptor, whose number is not reused before. `remove`, after which the owner may close it, waits for that handler.
//
// A source must not be released while suspended, and a suspended source does not run its cancel handler. The handler
// and the loop share `isSuspended` under the box's lock, so whoever cancels a source knows whether to resume it.
//
// After a hang-up Dispatch deletes a source, which would never fire again although its descriptor stays ready. So it is
// not resumed but listed for the next look (`again`).
//
// A hang-up behind unread input does not change the level. So each descriptor that was reported and not drained since
// is checked four times a second, all in one call: a client that leaves while its request is held is noticed.
//
// Rejected: telling edges from levels by the number of octets that can be read, which a peer decides.

import CDiffSystem
import DiffClock
import Dispatch

/// Waits for a semaphore that the handlers of Dispatch sources signal.
final class DispatchPoller: Poller, @unchecked Sendable {
    private let queue = DispatchQueue(label: "poller")
    private let arrivals = DispatchSemaphore(value: 0)
    private let box = Locked(Box())
    /// Indexed by descriptor.
    private var watches: [Watch?] = []
    /// To look at in the next wait: hung up, and wanted again.
    private var again: [Source] = []
    /// Descriptors with input that was reported and not drained since, and what was said of their end.
    private var unread: [Int32: Readiness] = [:]
    /// When to look at those next.
    private var nextLook = Instant.never
    private static let pause = Duration.milliseconds(250)
    /// Listening sockets' sources that were reported in the last wait.
    private var reported: [Source] = []
    private var events = UnsafeMutableBufferPointer<PolledEvent>.allocate(capacity: 64)
    /// How many events the present wait has found.
    private var found = 0

    /// Where handlers leave sources for the loop. Signalled when an empty one is filled.
    private struct Box {
        var fired: [Source] = []
        var isWoken = false

        var isEmpty: Bool { fired.isEmpty && !isWoken }
    }

    /// A descriptor, and its sources.
    private final class Watch: @unchecked Sendable {
        let descriptor: Int32
        var interest: Interest
        var isHungUp = false
        var input: Source?
        var output: Source?
        /// Guarded by the box's lock, as is all below.
        var isEnded = false
        var sources = 0
        var whenEnded: (@Sendable () -> Void)?

        init(_ descriptor: Int32, for interest: Interest) { (self.descriptor, self.interest) = (descriptor, interest) }

        func wants(_ direction: Readiness) -> Bool {
            switch interest {
            case .connections: direction == .input
            case .edges(let forOutput): direction == .input || forOutput
            case .once(let readiness): readiness.contains(direction)
            }
        }
    }

    /// A source of Dispatch for one direction.
    private final class Source: @unchecked Sendable {
        let watch: Watch
        let direction: Readiness
        let raw: any DispatchSourceProtocol
        /// Whether the loop has taken it out of the box and not resumed it since.
        var isParked = false
        /// Guarded by the box's lock.
        var isSuspended = false

        init(_ watch: Watch, _ direction: Readiness, _ queue: DispatchQueue) {
            (self.watch, self.direction) = (watch, direction)
            raw =
                direction == .input
                ? DispatchSource.makeReadSource(fileDescriptor: watch.descriptor, queue: queue)
                : DispatchSource.makeWriteSource(fileDescriptor: watch.descriptor, queue: queue)
        }
    }

    deinit {
        for case let watch? in watches { end(watch) {} }
        events.deallocate()
    }

    var reportsLevels: Bool { true }

    // MARK: Watching

    func add(_ descriptor: Int32, for interest: Interest) -> Bool {
        let index = Int(descriptor)
        while watches.count <= index { watches.append(nil) }
        precondition(watches[index] == nil, "a descriptor is watched once")
        let watch = Watch(descriptor, for: interest)
        watches[index] = watch
        resumeWanted(watch)
        return true
    }

    func change(_ descriptor: Int32, to interest: Interest) -> Bool {
        guard let watch = watch(of: descriptor) else { return false }
        watch.interest = interest
        resumeWanted(watch)
        return true
    }

    func drained(_ descriptor: Int32, of direction: Readiness) {
        guard let watch = watch(of: descriptor), let source = direction == .input ? watch.input : watch.output else {
            return
        }
        // Nothing after a hang-up is an edge.
        if !watch.isHungUp { resume(source) }
    }

    func remove(_ descriptor: Int32) {
        guard let watch = take(descriptor) else { return }
        let hasEnded = DispatchSemaphore(value: 0)
        end(watch) { hasEnded.signal() }
        hasEnded.wait()
    }

    func close(_ descriptor: Int32) {
        guard let watch = take(descriptor) else {
            CDiffSystem.close(descriptor)
            return
        }
        end(watch) { CDiffSystem.close(descriptor) }
    }

    private func watch(of descriptor: Int32) -> Watch? {
        descriptor >= 0 && Int(descriptor) < watches.count ? watches[Int(descriptor)] : nil
    }

    private func take(_ descriptor: Int32) -> Watch? {
        guard let watch = watch(of: descriptor) else { return nil }
        watches[Int(descriptor)] = nil
        unread[descriptor] = nil
        return watch
    }

    private func resumeWanted(_ watch: Watch) {
        if watch.wants(.input) { resume(watch.input ?? start(.input, of: watch)) }
        if watch.wants(.output) { resume(watch.output ?? start(.output, of: watch)) }
    }

    // MARK: Sources

    private func start(_ direction: Readiness, of watch: Watch) -> Source {
        let source = Source(watch, direction, queue)
        if direction == .input { watch.input = source } else { watch.output = source }
        box.withLock { _ in watch.sources += 1 }
        source.raw.setEventHandler { [box, arrivals] in
            let isFirst = box.withLock { box in
                guard !watch.isEnded else { return false }
                source.isSuspended = true
                source.raw.suspend()
                defer { box.fired.append(source) }
                return box.isEmpty
            }
            if isFirst { arrivals.signal() }
        }
        source.raw.setCancelHandler { [box] in
            let whenEnded = box.withLock { _ in
                watch.sources -= 1
                return watch.sources == 0 ? watch.whenEnded.take() : nil
            }
            whenEnded?()
        }
        source.raw.activate()
        return source
    }

    /// Lets a source fire once more, if it has fired and its descriptor is still watched.
    private func resume(_ source: Source) {
        guard source.isParked, !source.watch.isEnded else { return }
        source.isParked = false
        if source.direction == .input { unread[source.watch.descriptor] = nil }
        if source.watch.isHungUp { return again.append(source) }
        box.withLock { _ in source.isSuspended = false }
        source.raw.resume()
    }

    /// Calls `then` once Dispatch has let go of the descriptor.
    private func end(_ watch: Watch, then: @escaping @Sendable () -> Void) {
        let sources = [watch.input, watch.output].compactMap { $0 }
        let suspended = box.withLock { _ in
            watch.isEnded = true
            watch.whenEnded = then
            return sources.filter(\.isSuspended)
        }
        // Watched for nothing: no source has a cancel handler to call it.
        if sources.isEmpty { box.withLock { _ in watch.whenEnded.take() }?() }
        sources.forEach { $0.raw.cancel() }
        suspended.forEach { $0.raw.resume() }
        (watch.input, watch.output) = (nil, nil)
    }

    // MARK: Waiting

    func wait(until deadline: Instant) -> Polled {
        exchange(&reported, with: []).forEach(resume)
        found = 0
        var isWoken = false
        repeat {
            let end = unread.isEmpty ? deadline : min(deadline, nextLook)
            _ = arrivals.wait(timeout: again.isEmpty ? Self.time(of: end) : .now())
            var fired = exchange(&again, with: [])
            box.withLock { box in
                fired += box.fired
                isWoken = isWoken || box.isWoken
                box.fired.removeAll(keepingCapacity: true)
                box.isWoken = false
            }
            fired.forEach(look)
            if !unread.isEmpty { lookForEnds(at: .now) }
        } while found == 0 && !isWoken && Instant.now < deadline
        return Polled(events: UnsafeBufferPointer(start: events.baseAddress, count: found), isWoken: isWoken)
    }

    func wake() {
        let isFirst = box.withLock { box in
            defer { box.isWoken = true }
            return box.isEmpty
        }
        if isFirst { arrivals.signal() }
    }

    /// Reports what a descriptor is ready for now. It may have been read since the source fired, or have ended.
    private func look(_ source: Source) {
        let watch = source.watch
        guard !watch.isEnded else { return }
        source.isParked = true
        guard watch.wants(source.direction) else { return }
        let present = Readiness.present(of: watch.descriptor)
        if present.contains(.hangup) { watch.isHungUp = true }
        var readiness = present.intersection([source.direction, .failure])
        if case .edges = watch.interest { readiness.formUnion(present.intersection(.inputEnd)) }
        guard !readiness.isEmpty else { return resume(source) }
        report(PolledEvent(descriptor: watch.descriptor, readiness: readiness))
        switch watch.interest {
        case .connections: reported.append(source)
        case .edges: if source.direction == .input, !watch.isHungUp { expectEnd(of: watch.descriptor, readiness) }
        case .once: break
        }
    }

    private static let ends: Readiness = [.failure, .inputEnd]

    private func expectEnd(of descriptor: Int32, _ said: Readiness) {
        if unread.isEmpty { nextLook = .now + Self.pause }
        unread[descriptor] = said.intersection(Self.ends)
    }

    /// Reports what has ended since it was reported for its input.
    private func lookForEnds(at now: Instant) {
        guard now >= nextLook else { return }
        nextLook = now + Self.pause
        let descriptors = Array(unread.keys)
        for (descriptor, present) in zip(descriptors, Readiness.present(of: descriptors)) {
            let ends = present.intersection(Self.ends)
            guard let watch = watch(of: descriptor), !ends.subtracting(unread[descriptor, default: []]).isEmpty else {
                continue
            }
            if ends.contains(.hangup) { watch.isHungUp = true }
            unread[descriptor] = watch.isHungUp ? nil : ends
            report(PolledEvent(descriptor: descriptor, readiness: ends))
        }
    }

    private func report(_ event: PolledEvent) {
        if found == events.count {
            let larger = UnsafeMutableBufferPointer<PolledEvent>.allocate(capacity: 2 * found)
            _ = larger.moveInitialize(fromContentsOf: events)
            events.deallocate()
            events = larger
        }
        events.initializeElement(at: found, to: event)
        found += 1
    }

    private static func time(of deadline: Instant) -> DispatchTime {
        switch deadline {
        case .never: .distantFuture
        case .past: .now()
        default: .now() + .nanoseconds(Int(max(0, deadline.nanoseconds - Instant.now.nanoseconds)))
        }
    }
}
