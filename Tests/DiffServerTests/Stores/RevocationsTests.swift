import HTTPCore
import Testing

@testable import DiffClock
@testable import DiffService
@testable import DiffSessions
@testable import DiffStores

@Suite struct RevocationsTests {
    /// Counts how often the reader is ended.
    private final class Reader: SessionReader {
        let ends = Locked<[SessionEnd]>([])

        func sessionChanged() {}
        func sessionEnded(_ end: SessionEnd) { ends.withLock { $0.append(end) } }
        func serverEnds(after time: Duration) {}
    }

    private func token(_ sessions: String..., made: Int? = nil, id: String? = nil) -> Token {
        Token(sessions: sessions, scopes: [.read], expires: WallTime(seconds: 1), made: made, id: id)
    }

    @Test func `tokens that were made by then are refused, and no others`() {
        let revocations = Revocations()
        #expect(!revocations.refuse(token("a")))
        revocations.add("a", upTo: 1000)
        for (made, isRefused) in [(nil, true), (-5, true), (999, true), (1000, true), (1001, false)] as [(Int?, Bool)] {
            #expect(revocations.refuse(token("a", made: made)) == isRefused)
            #expect(revocations.refuse(token("b", "a", made: made)) == isRefused)
            #expect(!revocations.refuse(token("b", "A", "a ", made: made)))
        }
    }

    @Test func `one token is revoked alone, whenever it was made, and its readers end`() {
        let revocations = Revocations()
        let (mine, other, nameless) = (Reader(), Reader(), Reader())
        revocations.follow(token("b", "a", made: 9_000, id: "x/ y"), mine)
        revocations.follow(token("a", made: 1, id: "x"), other)
        revocations.follow(token("a", made: 1), nameless)
        revocations.add("a/x/ y", upTo: 1_000)
        #expect(mine.ends.withLock { $0 } == [.revoked])
        for reader in [other, nameless] { #expect(reader.ends.withLock { $0 } == []) }
        #expect(revocations.refuse(token("b", "a", made: 9_000, id: "x/ y")))
        for spared in [token("b", id: "x/ y"), token("a", id: "x"), token("a")] { #expect(!revocations.refuse(spared)) }
    }

    @Test func `a moment before that is known changes nothing`() {
        let revocations = Revocations()
        revocations.add("a", upTo: 1000)
        revocations.add("a", upTo: 500)
        #expect(revocations.refuse(token("a", made: 800)))
        revocations.add("a", upTo: 1500)
        #expect(revocations.refuse(token("a", made: 1200)))
    }

    @Test func `whether nothing was ever revoked is known without a lock`() {
        let revocations = Revocations()
        #expect(revocations.areNone)
        revocations.add("a", upTo: 1000)
        #expect(!revocations.areNone)
    }

    @Test func `readers end with their tokens, whichever of its sessions they read`() {
        let revocations = Revocations()
        let (old, new, other, gone) = (Reader(), Reader(), Reader(), Reader())
        revocations.follow(token("b", "a", made: 900), old)
        revocations.follow(token("a", made: 1100), new)
        revocations.follow(token("b", made: 900), other)
        revocations.follow(token("a", made: 900), gone)
        revocations.leave(token("a", made: 900), gone)
        revocations.add("a", upTo: 1000)
        #expect(old.ends.withLock { $0 } == [.revoked])
        for reader in [new, other, gone] { #expect(reader.ends.withLock { $0 } == []) }
        // Readers are told only once.
        revocations.leave(token("b", "a", made: 900), old)
        revocations.add("b", upTo: 1000)
        #expect(old.ends.withLock { $0.count } == 1)
        #expect(other.ends.withLock { $0.count } == 1)
    }

    @Test func `a reader whose token was revoked on its way is told at once`() {
        let (revocations, reader) = (Revocations(), Reader())
        revocations.add("a", upTo: 1000)
        revocations.follow(token("a", made: 1000), reader)
        #expect(reader.ends.withLock { $0 } == [.revoked])
    }

    @Test func `where it is not known which were revoked, all are`() {
        let revocations = Revocations()
        revocations.addAll(upTo: 1000)
        for (made, isRefused) in [(nil, true), (1000, true), (1001, false)] as [(Int?, Bool)] {
            #expect(revocations.refuse(token("a", made: made)) == isRefused)
        }
    }

    @Test func `their number has a bound, within which those of seven days stay`() {
        let (revocations, now) = (Revocations(), 1_800_000_000_000)
        for number in 0..<Revocations.limit {
            #expect(revocations.hasRoom(for: "\(number)", at: now))
            revocations.add("\(number)", upTo: now + number % 2)
        }
        #expect(!revocations.hasRoom(for: "new", at: now))
        #expect(!revocations.hasRoom(for: "new", at: now + Revocations.life - 1))
        #expect(revocations.hasRoom(for: "7", at: now))
        #expect(revocations.hasRoom(for: "new", at: now + Revocations.life))
        #expect(revocations.count == Revocations.limit / 2)
    }
}
