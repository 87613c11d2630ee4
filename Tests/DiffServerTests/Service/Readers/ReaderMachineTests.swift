import DiffClock
import DiffSessions
import Testing

@testable import DiffService

/// Plays a reader's events in every order, up to three revisions and two lives of a session.
@Suite struct ReaderMachineTests {
    @Test(arguments: [true, false], [true, false])
    func noOrderOfEventsLosesOne(showsAll: Bool, isAdopted: Bool) {
        let pace = Duration.milliseconds(50)
        for purpose in [ReaderMachine.Purpose.stream(pace: pace), .stream(pace: pace, hold: pace), .answer] {
            // A request without adopted answers is never held.
            if purpose == .answer, !isAdopted { continue }
            for start in World.starts(purpose, showsAll: showsAll, isAdopted: isAdopted) { explore(start) }
        }
    }

    /// From every reachable state, the work under way ends well if nothing else happens.
    private func explore(_ start: World) {
        var seen: Set = [start]
        var next = [start]
        while let world = next.popLast() {
            for step in World.Step.allCases {
                var after = world
                after.take(step)
                if let fault = after.fault { return fail("\(fault) by \(step) in \(world)") }
                guard seen.insert(after).inserted else { continue }
                if let fault = after.settled().fault { return fail("\(fault) after \(step) in \(world)") }
                next.append(after)
            }
        }
        #expect(seen.count > 200)
    }

    private func fail(_ text: String) { Issue.record(Comment(rawValue: text)) }

    @Test func aChangeIsHeldBackForThoseThatFollowIt() {
        var machine = ReaderMachine(
            .stream(pace: .milliseconds(50), hold: .milliseconds(70)), ResumeRequest(session: "a", since: .absent),
            showsAll: true, isAdopted: true)
        let (start, revision) = (Instant(nanoseconds: 1_000), World.revision(1))
        // Not the first answer.
        #expect(machine.handle(.ready(at: start)) == .read)
        _ = machine.handle(.worked(.found(revision, isStale: false)))
        let state = ReaderState(revision: revision)
        #expect(machine.handle(.worked(.different(state, name: revision, isStale: false, at: start))) == .answer)
        #expect(machine.handle(.changed) == .pause(.milliseconds(70)))
        #expect(machine.handle(.changed) == .reportReady)
        #expect(machine.handle(.ready(at: start + .milliseconds(60))) == .wait)
        #expect(machine.handle(.pauseEnded) == .reportReady)
        #expect(machine.handle(.ready(at: start + .milliseconds(70))) == .read)
    }

    @Test func aPauseLastsUntilThePaceAllowsAnAnswer() {
        var machine = ReaderMachine(
            .stream(pace: .seconds(2)), ResumeRequest(session: "a", since: .absent), showsAll: true, isAdopted: true)
        let start = Instant(nanoseconds: 1_000)
        #expect(machine.handle(.ready(at: start)) == .read)
        let revision = World.revision(1)
        guard case .compare = machine.handle(.worked(.found(revision, isStale: false))) else {
            return fail("a new head was not compared")
        }
        let state = ReaderState(revision: revision)
        #expect(machine.handle(.worked(.different(state, name: revision, isStale: false, at: start))) == .answer)
        #expect(machine.handle(.changed) == .reportReady)
        #expect(machine.handle(.ready(at: start + .milliseconds(1_500))) == .pause(.milliseconds(500)))
        // Nothing is read during the pause, whatever happens.
        #expect(machine.handle(.changed) == .reportReady)
        #expect(machine.handle(.ready(at: start + .milliseconds(1_600))) == .wait)
        #expect(machine.handle(.pauseEnded) == .reportReady)
        #expect(machine.handle(.ready(at: start + .seconds(2))) == .read)
    }
}

/// A session, its reader, and the work under way between them.
private struct World: Hashable {
    enum Step: CaseIterable {
        case commit, hiddenCommit, delete, create, sourceFallsSilent, sourceIsHeard
        case readyInTime, readyTooEarly, pauseEnds, readEnds, readEndsWithWhatWasThere, workFails, compareEnds,
            compareFades, vanish
        case deadline, beat
    }

    private enum Work: Hashable {
        /// The result may be older than the head: the head when the read began.
        case read(of: Int?)
        case compare(Comparison, of: Int)
    }

    var machine: ReaderMachine
    /// The head, counting all commits over the session's lives; nil if there is no session.
    private var head: Int?
    private var commits = 0
    /// What the reader sees at each head, as a number.
    private var shown: [Int: Int] = [:]
    private var isStale = false
    private var work: Work?
    private var isPaused = false
    private var isReadyWanted = true
    private var isTimeUp = false
    /// The newest revision that the reader was compared with, and so has seen.
    private var known: Int?
    private var isToldStale = false
    private var answers = 0
    private(set) var fault: String?

    static func revision(_ number: Int) -> Revision {
        Revision("\(number)-000000000000000\(number)")!
    }

    private static let start = Instant(nanoseconds: 0)

    /// Starts without a session, with one, and with one that the reader already shows.
    static func starts(_ purpose: ReaderMachine.Purpose, showsAll: Bool, isAdopted: Bool) -> [World] {
        [nil, 0, 1].map { (known: Int?) in
            let isThere = known != nil
            let isCompared = known == 1 && isAdopted
            let machine = ReaderMachine(
                purpose, ResumeRequest(session: "a", since: isCompared ? .revision(revision(1)) : .absent),
                compared: isCompared ? ReaderState(revision: revision(1)) : nil, showsAll: showsAll,
                isAdopted: isAdopted)
            return World(machine, head: isThere ? 1 : nil, known: isCompared ? 1 : nil)
        }
    }

    private init(_ machine: ReaderMachine, head: Int?, known: Int?) {
        (self.machine, self.head, self.known) = (machine, head, known)
        (commits, shown) = (head ?? 0, head.map { [$0: $0] } ?? [:])
    }

    // MARK: Steps

    mutating func take(_ step: Step) {
        switch step {
        case .commit: commit(isSeen: true)
        case .hiddenCommit: commit(isSeen: false)
        case .create:
            guard head == nil, commits < 3 else { return }
            commits += 1
            (head, shown[commits]) = (commits, commits)
            handle(.changed)
        case .delete:
            guard head != nil, machine.phase != .over else { return }
            (head, known) = (nil, nil)
            isPaused = false
            handle(machine.purpose == .answer ? .ended : .restarted)
        case .sourceFallsSilent, .sourceIsHeard:
            guard machine.purpose != .answer, isStale != (step == .sourceFallsSilent) else { return }
            isStale.toggle()
            handle(.changed)
        case .readyInTime, .readyTooEarly:
            isReadyWanted = false
            handle(.ready(at: Self.start + (step == .readyInTime ? .seconds(1) : .zero)))
        case .pauseEnds:
            guard isPaused else { return }
            isPaused = false
            handle(.pauseEnded)
        case .readEnds, .readEndsWithWhatWasThere:
            guard case .read(let old) = work else { return }
            work = nil
            if let revision = step == .readEnds ? head : old { found(revision) } else { handle(.worked(.missing)) }
        case .workFails:
            guard work != nil else { return }
            work = nil
            handle(.worked(.failed))
        case .compareEnds, .compareFades:
            guard case .compare(let comparison, let revision) = work else { return }
            work = nil
            compared(comparison, with: revision, isFading: step == .compareFades)
        case .vanish:
            guard case .compare = work else { return }
            work = nil
            handle(.worked(.vanished))
        case .deadline:
            guard machine.purpose == .answer, !isTimeUp else { return }
            isTimeUp = true
            handle(.deadline)
        case .beat: handle(.beat)
        }
    }

    private mutating func commit(isSeen: Bool) {
        guard let head, commits < 3 else { return }
        commits += 1
        shown[commits] = isSeen ? commits : shown[head]
        self.head = commits
        handle(.changed)
    }

    private mutating func found(_ revision: Int) {
        handle(.worked(.found(Self.revision(revision), isStale: isStale)))
        if case .compare(let comparison, _) = work { work = .compare(comparison, of: revision) }
    }

    private mutating func compared(_ comparison: Comparison, with revision: Int, isFading: Bool) {
        let state = ReaderState(revision: Self.revision(revision))
        let isSame = !comparison.always && known.map { shown[$0] == shown[revision] } == true
        if isSame {
            let name = isFading && comparison.since != .revision(state.revision)
            handle(.same(state, name: name ? state.revision : nil), comparedWith: revision)
        } else {
            handle(
                .worked(.different(state, name: state.revision, isStale: isStale, at: Self.start)),
                comparedWith: revision)
        }
    }

    // MARK: The machine

    private mutating func handle(_ event: ReaderMachine.Event, comparedWith revision: Int? = nil) {
        let (phase, base) = (machine.phase, machine.base)
        let action = machine.handle(event)
        if phase == .over, action != .wait { fault = "a reader that is gone was given \(action)" }
        if let revision, machine.phase != .over || action == .answer, phase != .working(.abandoned) {
            known = revision
            if base == nil, machine.isAdopted, machine.base == nil { fault = "a comparison left no base" }
        }
        switch action {
        case .wait: break
        case .reportReady: isReadyWanted = true
        case .pause:
            if isPaused { fault = "two timers" }
            isPaused = true
        case .read: begin(.read(of: head))
        case .compare(let comparison):
            check(comparison)
            begin(.compare(comparison, of: 0))
        case .catchUp(let comparison):
            check(comparison)
            // The session is in memory, and the head shows the same.
            guard let head, let known, shown[head] == shown[known] else { break }
            handle(.same(ReaderState(revision: Self.revision(head)), name: nil), comparedWith: head)
        case .answer:
            if machine.isAdopted, let revision, machine.since != .revision(Self.revision(revision)) {
                fault = "an answer did not move the reader on"
            }
            (answers, isToldStale, isReadyWanted) = (answers + 1, isStale, true)
            if machine.purpose == .answer, answers > 1 { fault = "a request was answered twice" }
        case .rename(let name):
            if !machine.isAdopted { fault = "what the request says was renamed" }
            if machine.since != .revision(name) { fault = "a new name was not taken" }
            isReadyWanted = true
        case .refuse:
            if machine.purpose != .answer { fault = "a stream was refused" }
            answers += 1
        }
        answers = min(answers, 2)
    }

    private mutating func begin(_ new: Work) {
        if work != nil { fault = "two pieces of work" }
        work = new
    }

    /// A comparison starts from what the reader has.
    private mutating func check(_ comparison: Comparison) {
        if comparison.since != machine.since { fault = "a comparison starts from elsewhere" }
        let last = comparison.base?.revision ?? comparison.lastSeen
        if last != known.map(Self.revision) { fault = "a comparison starts from \(String(describing: last))" }
    }

    // MARK: The end

    /// The world once everything under way is done and nothing else happens.
    func settled() -> World {
        var world = self
        for _ in 0..<16 {
            if case .read = world.work {
                world.take(.readEndsWithWhatWasThere)
            } else if world.work != nil {
                world.take(.compareEnds)
            } else if world.isPaused {
                world.take(.pauseEnds)
            } else if world.isReadyWanted {
                world.take(.readyInTime)
            } else {
                return world.checked()
            }
            if world.fault != nil { return world }
        }
        world.fault = "it never ends"
        return world
    }

    private func checked() -> World {
        var world = self
        guard machine.phase != .over else { return world }
        if isTimeUp { world.fault = "a request was not answered in time" }
        if machine.phase != .upToDate { world.fault = "forgotten in \(machine.phase)" }
        guard let head else { return world }
        if known != head { world.fault = "the reader was not compared with the head" }
        if machine.purpose != .answer, isToldStale != isStale {
            world.fault = "the reader takes its source for another"
        }
        return world
    }
}
