import HTTPCore
import Testing

@testable import DiffClock
@testable import DiffService
@testable import DiffSessions
@testable import DiffStores
@testable import DiffUpstream

/// A node with one list, another node that may hold the lease, and a source. Each step is random.
private struct World {
    var life: SourceLife
    var random: SplitMix64
    var now = Instant.now
    var readers = 0
    var isInFile = true
    let isSole: Bool
    /// The question under way.
    var question: Question?
    /// The waiters, and whether there was no session when they came.
    var waiting: [Int: (needsSession: Bool, isForced: Bool, fetches: Int)] = [:]
    var arrivals = 0
    /// Requests to the source that have begun.
    var fetches = 0
    var hasLease = false
    var announcements = 0
    var removals = 0

    enum Question: Equatable { case lease(isForced: Bool), session, source, release }

    init(seed: UInt64) {
        random = SplitMix64(seed: seed)
        isSole = Bool.random(using: &random)
        life = SourceLife(every: .seconds(5), at: now)
    }

    var surroundings: SourceLife.Surroundings {
        SourceLife.Surroundings(
            now: now, list: isInFile ? ("list", .seconds(5), 1) : nil, base: nil, hasReaders: readers > 0,
            hasSlot: readers > 0, isSole: isSole, jitter: 0.5)
    }

    mutating func happen(_ event: SourceLife.Event) {
        for action in life.happen(event, surroundings) {
            switch action {
            case .acquire(let isForced, _): ask(.lease(isForced: isForced))
            case .renew: #expect(hasLease, "only who has the lease renews it")
            case .look: ask(.session)
            case .fetch:
                #expect(hasLease, "only who has the lease asks the source")
                fetches += 1
                ask(.source)
            case .release:
                #expect(hasLease)
                ask(.release)
            case .finish(let id, let result):
                let waiter = waiting.removeValue(forKey: id)
                #expect(waiter != nil, "whoever waits is told once")
                if let waiter, waiter.isForced, case .success = result {
                    #expect(fetches > waiter.fetches, "whoever asks for a fetch gets one of its own")
                }
            case .announce: announcements += 1
            case .remove: removals += 1
            case .count, .beginOutage, .endOutage, .forgetOutage: break
            }
        }
    }

    private mutating func ask(_ question: Question) {
        #expect(self.question == nil, "one question at a time")
        self.question = question
    }

    mutating func arrive(isForced: Bool) {
        arrivals += 1
        let needsSession = isForced || Bool.random(using: &random)
        waiting[arrivals] = (needsSession, isForced, fetches)
        let deadline = needsSession ? nil : now + .seconds(1)
        happen(.arrived(.init(id: arrivals, needsSession: needsSession, isForced: isForced, deadline: deadline)))
    }

    mutating func pass(_ time: Duration) {
        now = now + time
        if let wake = life.wake, wake <= now { happen(.woke) }
    }

    /// - Parameter isKind: whether the store and the source do what they are asked to.
    mutating func answer(isKind: Bool = false) {
        guard let asked = exchange(&question, with: nil) else { return }
        let chance = isKind ? 0 : Int.random(in: 0..<8, using: &random)
        switch asked {
        case .lease(let isForced):
            let result: Result<SourceLease, StoreFailure> =
                switch chance {
                case 5 where !isSole: .success(.busy(nil))
                case 6 where !isForced: .success(.notDue(note, in: .seconds(Int.random(in: 0...5, using: &random))))
                case 7: .failure(.unavailable("no answer"))
                default: .success(.acquired(chance == 4 ? note : nil))
                }
            if case .success(.acquired) = result { hasLease = true }
            happen(.leased(result))
        case .session: happen(.looked(isMissing: isKind || Bool.random(using: &random)))
        case .source:
            let outcome: SourceFetch.Outcome =
                switch chance {
                case 3: .missing
                case 4: .failed("no answer", retryAfter: 7)
                case 5: .overtaken
                case 6: .outdated
                case 7: .unusable(Problem(.malformedRequest, "no list"))
                default: .succeeded(Self.answer, at: Self.base)
                }
            if case .succeeded = outcome { happen(.heard) }
            let before = removals
            happen(.fetched(outcome))
            let isGone = if case .succeeded = outcome { !isInFile } else { false }
            #expect(removals - before == (isGone ? 1 : 0), "a list that is gone leaves no session")
        case .release:
            hasLease = false
            happen(.released)
        }
    }

    private var note: SourceNote {
        SourceNote(
            outcome: .fetched, age: .seconds(1), interval: .seconds(5), failures: 0, validators: SourceValidators(),
            sourceHash: 1)
    }

    static let base = Revision("1-0123456789abcdef").map {
        SourceBase($0, Session.FetchGround($0), SourceName("list"))
    }
    static let answer = Transfer.Answer(
        status: 200, body: [], received: 0, etag: nil, lastModified: nil, cacheControl: nil, age: nil, retryAfter: nil,
        share: MemoryShare(of: MemoryBudget()))

    mutating func step() {
        switch Int.random(in: 0..<12, using: &random) {
        case 0: arrive(isForced: true)
        case 1, 2: arrive(isForced: false)
        case 3:
            readers += 1
            happen(.readersArrived)
        case 4: readers = max(0, readers - 1)
        case 5:
            happen(.settingsChanged)
            if !isInFile, question == nil { #expect(waiting.isEmpty, "nobody waits for a list that is gone") }
        case 6: isInFile = Int.random(in: 0..<4, using: &random) > 0
        case 7, 8: pass(.milliseconds(Int.random(in: 1...8000, using: &random)))
        default: answer()
        }
    }

    /// Answers every question, and lets time pass.
    mutating func settle(for time: Duration) {
        let end = now + time
        for _ in 0..<10_000 {
            if question != nil {
                answer(isKind: true)
            } else if let wake = life.wake, wake <= end {
                now = max(now, wake)
                happen(.woke)
            } else {
                return now = end
            }
        }
        Issue.record("it comes to no rest")
    }
}

@Suite struct SourceLifeTests {
    @Test(arguments: 0..<400 as Range<UInt64>)
    func `nobody waits for ever, whatever happens`(seed: UInt64) {
        var world = World(seed: seed)
        for _ in 0..<60 { world.step() }
        world.isInFile = true
        world.settle(for: .seconds(30))
        #expect(world.waiting.isEmpty, "\(world.waiting.count) wait for ever")
        #expect(world.question == nil && !world.hasLease && world.life.phase.isIdle)
    }

    @Test(arguments: 0..<100 as Range<UInt64>)
    func `a source is asked while somebody reads, and not otherwise`(seed: UInt64) {
        var world = World(seed: seed)
        for _ in 0..<60 { world.step() }
        (world.isInFile, world.readers) = (true, 1)
        world.happen(.readersArrived)
        world.settle(for: .seconds(400))
        let before = world.fetches
        world.settle(for: .seconds(60))
        #expect(world.fetches >= before + 10, "asked \(world.fetches - before) times a minute")
        world.readers = 0
        world.settle(for: .seconds(10))
        let after = world.fetches
        world.settle(for: .seconds(600))
        #expect(world.fetches == after && world.life.wake == nil)
    }

    @Test func `readers hear once that a source is silent, and once that it is back`() {
        var world = World(seed: 1)
        world.readers = 1
        world.happen(.readersArrived)
        world.pass(.milliseconds(1))
        // The lease is being acquired, and the store answers late.
        world.pass(.seconds(20))
        world.pass(.seconds(20))
        #expect(world.announcements == 1)
        world.settle(for: .seconds(1))
        #expect(world.announcements == 2)
    }
}

@Suite struct HookQueueTests {
    /// Plays random events; now and then another node holds the lease.
    @Test(arguments: 0..<300 as Range<UInt64>)
    func `each edit has its turn or is refused, one at a time`(seed: UInt64) {
        var (random, turns, now) = (SplitMix64(seed: seed), HookQueue(), Instant.now)
        var (waiting, calling, isAsked, isReleased): (Set<Int>, Int?, Bool, Bool) = ([], nil, false, false)
        var (arrivals, isForgotten) = (0, true)

        func happen(_ event: HookQueue.Event) {
            for action in turns.happen(event, now) {
                switch action {
                case .acquire:
                    #expect(calling == nil && !isAsked)
                    isAsked = true
                case .give(let id):
                    #expect(calling == nil && waiting.remove(id) != nil)
                    calling = id
                case .refuse(let id, _): #expect(waiting.remove(id) != nil)
                case .release: isReleased = true
                case .forget:
                    #expect(waiting.isEmpty)
                    isForgotten = true
                }
            }
        }

        func step(isKind: Bool) {
            if isAsked {
                isAsked = false
                let chance = isKind ? 9 : Int.random(in: 0..<10, using: &random)
                happen(.leased(chance == 0 ? .failure(.unavailable("no answer")) : .success(chance > 3)))
            } else if isReleased {
                (isReleased, calling) = (false, nil)
                happen(.released)
            } else if calling != nil, isKind || Bool.random(using: &random) {
                happen(.ended)
            } else if let wake = turns.wake {
                now = max(now, wake)
                happen(.woke)
            }
        }

        for _ in 0..<100 {
            if Int.random(in: 0..<3, using: &random) == 0 {
                arrivals += 1
                isForgotten = false
                waiting.insert(arrivals)
                happen(.arrived(id: arrivals, timeout: .seconds(1)))
            } else if calling == nil || isReleased || Int.random(in: 0..<3, using: &random) == 0 {
                step(isKind: false)
            }
        }
        for _ in 0..<200 where !isForgotten { step(isKind: true) }
        #expect(waiting.isEmpty && isForgotten && turns.wake == nil)
    }
}
