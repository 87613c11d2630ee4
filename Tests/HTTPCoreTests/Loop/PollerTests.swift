import CDiffSystem
import Testing

@testable import HTTPCore

/// The promises of a poller, however it waits.
@Suite struct PollerTests {
    /// Two ends of a stream. The near one is watched, so the poller closes it; the far one is closed at the end, unless
    /// a test has done so.
    private final class Pair {
        private(set) var ends: [Int32]
        var near: Int32 { ends[0] }
        var far: Int32 { ends[1] }

        init() {
            var ends: [Int32] = [-1, -1]
            socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &ends)
            self.ends = ends
        }

        deinit { if far >= 0 { close(far) } }

        func closeFar() { close(exchange(&ends[1], with: -1)) }

        func write() { _ = CDiffSystem.write(far, [1], 1) }

        /// Waits until nobody has the near end: a process that another test starts has it for a moment.
        func waitForTheEnd() {
            var octet: UInt8 = 0
            while CDiffSystem.read(far, &octet, 1) < 0, errno == EAGAIN {
                pauseThread(.microseconds(50), "a process that another test starts")
            }
        }

        /// Reads everything available.
        func drain() {
            var room = [UInt8](repeating: 0, count: 65_536)
            while read(near, &room, room.count) > 0 {}
        }

        /// Writes until there is no room.
        func fill() {
            let bytes = [UInt8](repeating: 1, count: 65_536)
            while CDiffSystem.write(near, bytes, bytes.count) > 0 {}
        }

        /// Reads at the far end until the near end has room again.
        func makeRoom() {
            var room = [UInt8](repeating: 0, count: 1 << 20)
            while read(far, &room, room.count) > 0 {}
        }
    }

    /// The steps of a row, in order, and what the poller must report at once.
    private enum Step {
        case add(Interest), change(Interest), remove
        case write, read, fill, makeRoom, finish, closeFar
        /// Everything reported for the descriptor until it is silent: at least this, and at most also `also`.
        case says(Readiness, also: Readiness = [])
        case isSilent
    }

    private static let hungUp: Readiness = [.inputEnd, .hangup]

    private static let rows: [(name: String, steps: [Step])] = [
        ("input", [.add(.edges(forOutput: false)), .isSilent, .write, .says(.input)]),
        ("what is there already", [.write, .add(.edges(forOutput: false)), .says(.input)]),
        ("no edge twice", [.add(.edges(forOutput: false)), .write, .says(.input), .isSilent, .isSilent]),
        (
            "an edge behind a drained one",
            [.add(.edges(forOutput: false)), .write, .says(.input), .read, .isSilent]
                + [.write, .says(.input)]
        ),
        (
            "room from the start",
            [.add(.edges(forOutput: true)), .says(.output), .isSilent]
        ),
        (
            "no room, then room",
            [.fill, .add(.edges(forOutput: true)), .isSilent, .makeRoom, .says(.output)]
                + [.fill, .isSilent, .makeRoom, .says(.output)]
        ),
        (
            "room that is asked for later",
            [.add(.edges(forOutput: false)), .isSilent, .change(.edges(forOutput: true)), .says(.output)]
        ),
        (
            "room that is not wanted any more",
            [.fill, .add(.edges(forOutput: true)), .isSilent, .change(.edges(forOutput: false)), .makeRoom, .isSilent]
                + [.change(.edges(forOutput: true)), .says(.output)]
        ),
        (
            "the peer finishes",
            [.add(.edges(forOutput: false)), .finish, .says([.input, .inputEnd]), .isSilent]
        ),
        (
            "the peer finishes behind a message",
            [.add(.edges(forOutput: false)), .write, .says(.input), .read, .finish]
                + [.says([.input, .inputEnd]), .isSilent]
        ),
        (
            "the peer closes",
            [.add(.edges(forOutput: false)), .closeFar, .says([.input, .inputEnd, .hangup]), .isSilent, .isSilent]
        ),
        (
            "the peer finishes, and closes, behind input that nobody reads",
            [.add(.edges(forOutput: false)), .write, .says(.input), .finish, .says(.inputEnd, also: .input)]
                + [.isSilent, .closeFar, .says(.hangup, also: [.input, .inputEnd]), .isSilent]
        ),
        (
            "the peer closes while there is no room",
            [.fill, .add(.edges(forOutput: true)), .isSilent, .closeFar]
                + [.says(.hangup, also: [.input, .output, .inputEnd, .error]), .isSilent]
        ),
        (
            "the peer has closed before",
            [.write, .closeFar, .add(.edges(forOutput: false)), .says([.input, .inputEnd, .hangup]), .isSilent]
        ),
        ("once", [.write, .add(.once(.input)), .says(.input), .isSilent, .isSilent]),
        (
            "once more",
            [.write, .add(.once(.input)), .says(.input), .change(.once(.input)), .says(.input)]
                + [.change(.once(.input)), .says(.input), .isSilent]
        ),
        (
            "once for something else",
            [.write, .add(.once(.input)), .says(.input), .change(.once(.output)), .says(.output), .isSilent]
                + [.change(.once(.input)), .says(.input), .isSilent]
        ),
        (
            "once more behind a hang-up, as long as it is asked for",
            [
                .add(.once(.input)), .closeFar, .says([.input, .hangup]), .change(.once(.input)),
                .says([.input, .hangup]),
            ]
                + [.change(.once(.input)), .says([.input, .hangup]), .isSilent]
        ),
        ("removed", [.add(.edges(forOutput: true)), .says(.output), .remove, .write, .isSilent]),
        ("removed while an event is there", [.write, .add(.edges(forOutput: true)), .remove, .isSilent]),
        ("removed and added", [.write, .add(.once(.input)), .remove, .add(.edges(forOutput: false)), .says(.input)]),
    ]

    @Test(arguments: Polling.allCases)
    func whatItSays(_ polling: Polling) throws {
        for row in Self.rows {
            let (poller, pair) = (try Poller(polling), Pair())
            for (index, step) in row.steps.enumerated() {
                let place = "\(row.name), step \(index)"
                switch step {
                case .add(let interest): #expect(poller.add(pair.near, for: interest))
                case .change(let interest): #expect(poller.change(pair.near, to: interest))
                case .remove: poller.remove(pair.near)
                case .write: pair.write()
                case .read: pair.drain()
                case .fill: pair.fill()
                case .makeRoom: pair.makeRoom()
                case .finish: shutdown(pair.far, Int32(SHUT_WR))
                case .closeFar: pair.closeFar()
                case .says(let readiness, let more):
                    let said = poller.settled(pair.near, atLeast: readiness)
                    #expect(said.isSuperset(of: readiness) && said.isSubset(of: readiness.union(more)), "\(place)")
                case .isSilent: #expect(poller.settled(pair.near) == [], "\(place)")
                }
            }
            close(pair.near)
        }
    }

    @Test(arguments: Polling.allCases)
    func aListeningSocketIsReportedAsLongAsSomebodyWaits(_ polling: Polling) throws {
        let poller = try Poller(polling)
        // One for all loops, or the kernel might give the client to another.
        var options = ServerOptions.ofTests(listen: [])
        options.loops = 1
        let listening = try ListeningSocket.open(.tcp(host: "127.0.0.1", port: 0), options: options)[0]
        let descriptor = listening.descriptors[0]
        #expect(poller.add(descriptor, for: .connections(isShared: false)))
        #expect(poller.settled(descriptor) == [])
        let client = try Client(listening.address)
        for _ in 0..<3 { #expect(poller.said(descriptor) == .input) }
        // Accepting pauses after a report, and continues.
        poller.remove(descriptor)
        #expect(poller.wait(until: .past).events.isEmpty)
        #expect(poller.add(descriptor, for: .connections(isShared: false)))
        for _ in 0..<3 { #expect(poller.said(descriptor) == .input) }
        var storage = sockaddr_storage()
        let accepted = SystemSocket.accept(descriptor, &storage)
        #expect(accepted >= 0)
        #expect(poller.settled(descriptor) == [])
        withExtendedLifetime(client) {}
        poller.remove(descriptor)
        close(accepted)
        listening.close()
    }

    /// A descriptor's number is reused as soon as it is closed. Events of the old one must not reach the new one.
    @Test(arguments: Polling.allCases)
    func anotherDescriptorWithTheSameNumberIsAnother(_ polling: Polling) throws {
        let poller = try Poller(polling)
        for round in 0..<200 {
            let pair = Pair()
            pair.write()
            #expect(poller.add(pair.near, for: .edges(forOutput: true)))
            if round % 2 == 0 { pauseThread(.microseconds(200), "the writer, until Dispatch has seen the event") }
            close(pair.near)
            pair.waitForTheEnd()
            let next = Pair()
            #expect(poller.add(next.near, for: .edges(forOutput: false)))
            #expect(poller.settled(next.near, within: .milliseconds(1)) == [])
            next.write()
            #expect(poller.settled(next.near, atLeast: .input, within: .milliseconds(1)) == .input)
            close(next.near)
        }
    }

    @Test(arguments: Polling.allCases)
    func closingClosesSoon(_ polling: Polling) throws {
        let poller = try Poller(polling)
        for isWatched in [true, false] {
            let pair = Pair()
            if isWatched { #expect(poller.add(pair.near, for: .edges(forOutput: true))) }
            close(pair.near)
            // The far end sees it.
            var octet: UInt8 = 0
            #expect(eventually { read(pair.far, &octet, 1) == 0 })
        }
    }

    @Test(arguments: Polling.allCases)
    func itIsWokenFromAnotherThread(_ polling: Polling) throws {
        let poller = try Poller(polling)
        for _ in 0..<100 {
            SystemThread.start(named: "waker") { poller.wake() }
            #expect(poller.wait(until: .never).isWoken)
        }
        // Several calls before a wait count as one.
        poller.wake()
        poller.wake()
        #expect(poller.wait(until: .never).isWoken)
        #expect(!poller.wait(until: .past).isWoken)
    }

    @Test(arguments: Polling.allCases)
    func aWaitEndsAtItsDeadlineAndNotBefore(_ polling: Polling) throws {
        let (poller, pair) = (try Poller(polling), Pair())
        // A descriptor with nothing to report.
        #expect(poller.add(pair.near, for: .edges(forOutput: false)))
        for microseconds in [Int64(1), 300, 999, 1000, 1001, 5_500, 20_000] {
            let deadline = Instant.now + .microseconds(microseconds)
            let polled = poller.wait(until: deadline)
            #expect(Instant.now >= deadline && polled.events.isEmpty && !polled.isWoken)
        }
        for deadline in [.past, Instant(nanoseconds: 0), .now] { #expect(!poller.wait(until: deadline).isWoken) }
        close(pair.near)
    }

    @Test(arguments: Polling.allCases)
    func manyDescriptorsAreAllReported(_ polling: Polling) throws {
        Descriptors.raiseLimit()
        let poller = try Poller(polling)
        let pairs = (0..<min(2000, (Descriptors.limit - Descriptors.open) / 2 - 50)).map { _ in Pair() }
        for pair in pairs { #expect(poller.add(pair.near, for: .edges(forOutput: false))) }
        for round in 0..<3 {
            for pair in pairs { pair.write() }
            var counts: [Int32: Int] = [:]
            let deadline = Instant.now + .seconds(60)
            while counts.count < pairs.count, Instant.now < deadline {
                let events = poller.wait(until: Instant.now + .milliseconds(100)).events
                for event in events { counts[event.descriptor, default: 0] += 1 }
            }
            #expect(counts.count == pairs.count && counts.values.allSatisfy { $0 == 1 }, "round \(round)")
            for pair in pairs { pair.drain() }
        }
        for pair in pairs { close(pair.near) }
    }

    /// Ready descriptors that nobody reads: neither the waits nor a thread behind them take processor time.
    @Test(arguments: Polling.allCases)
    func nothingSpinsOnADescriptorThatNobodyWants(_ polling: Polling) throws {
        let (poller, pairs) = (try Poller(polling), (0..<50).map { _ in Pair() })
        for (index, pair) in pairs.enumerated() {
            pair.write()
            #expect(poller.add(pair.near, for: .edges(forOutput: index % 2 == 0)))
        }
        for pair in pairs { _ = poller.settled(pair.near, within: .milliseconds(1)) }
        for pair in pairs[..<10] { pair.closeFar() }
        for pair in pairs[..<10] { _ = poller.settled(pair.near, within: .milliseconds(1)) }
        var waits = 0
        let deadline = Instant.now + .milliseconds(300)
        while Instant.now < deadline {
            _ = poller.wait(until: deadline)
            waits += 1
        }
        #expect(waits < 20)
        for pair in pairs { close(pair.near) }
    }

    /// A poller released while many descriptors are watched and have events pending.
    @Test(arguments: Polling.allCases)
    func itMayGoAtAnyTime(_ polling: Polling) throws {
        for round in 0..<50 {
            let (poller, pairs) = (try Poller(polling), (0..<10).map { _ in Pair() })
            for pair in pairs {
                pair.write()
                #expect(poller.add(pair.near, for: .edges(forOutput: round % 2 == 0)))
            }
            if round % 3 == 0 { _ = poller.wait(until: Instant.now + .milliseconds(1)) }
            for pair in pairs {
                poller.remove(pair.near)
                // Its owner closes one, and another goes with the poller.
                if round % 5 == 0 { #expect(poller.add(pair.near, for: .once(.input))) } else { close(pair.near) }
            }
            if round % 10 == 0 { for pair in pairs { close(pair.near) } }
        }
    }
}

extension Poller {
    /// What one wait reports about a descriptor.
    fileprivate func said(_ descriptor: Int32) -> Readiness {
        let events = wait(until: Instant.now + .seconds(60)).events
        return events.filter { $0.descriptor == descriptor }.reduce(into: []) { $0.formUnion($1.readiness) }
    }

    /// What is reported about a descriptor until it is silent for `time`, counted from `readiness` on.
    fileprivate func settled(
        _ descriptor: Int32, atLeast readiness: Readiness = [], within time: Duration = .milliseconds(10)
    ) -> Readiness {
        var said: Readiness = []
        let limit = Instant.now + .seconds(60)
        var end = Instant.now + time
        while Instant.now < (said.isSuperset(of: readiness) ? end : limit) {
            for event in wait(until: min(limit, Instant.now + time)).events where event.descriptor == descriptor {
                said.formUnion(event.readiness)
                end = Instant.now + time
            }
        }
        return said
    }
}
