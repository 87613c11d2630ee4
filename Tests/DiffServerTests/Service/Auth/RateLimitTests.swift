import HTTPCore
import Testing

@testable import DiffClock
@testable import DiffService

@Suite struct RateLimitTests {
    private let start = Instant.now

    @Test func `without a rate nothing is refused`() {
        let limit = RateLimit<String>(perSecond: nil)
        #expect((0..<1000).allSatisfy { _ in limit.refuses("a", at: start) == nil })
    }

    @Test(arguments: [1, 3, 100])
    func `so many at once, and no more`(_ rate: Int) {
        let limit = RateLimit<String>(perSecond: rate)
        #expect((0..<rate).allSatisfy { _ in limit.refuses("a", at: start) == nil })
        #expect(limit.refuses("a", at: start) == 1)
        #expect(limit.refuses("b", at: start) == nil, "another one's bucket is its own")
    }

    @Test func `a bucket fills with time, and never above its rate`() {
        let limit = RateLimit<String>(perSecond: 2)
        for _ in 0..<2 { #expect(limit.refuses("a", at: start) == nil) }
        #expect(limit.refuses("a", at: start + .milliseconds(499)) != nil)
        #expect(limit.refuses("a", at: start + .milliseconds(501)) == nil)
        #expect(limit.refuses("a", at: start + .milliseconds(502)) != nil)
        for _ in 0..<2 { #expect(limit.refuses("a", at: start + .seconds(3600)) == nil) }
        #expect(limit.refuses("a", at: start + .seconds(3600)) != nil)
    }

    @Test func `what costs more than one request is owed`() throws {
        let limit = RateLimit<String>(perSecond: 2)
        #expect(limit.refuses("a", at: start) == nil)
        limit.count(10, "a", at: start)
        #expect(limit.refuses("a", at: start) == 5)
        #expect(limit.refuses("a", at: start + .milliseconds(4_900)) == 1)
        #expect(limit.refuses("a", at: start + .seconds(5)) == nil)
        #expect(limit.refuses("a", at: start + .seconds(5)) != nil)
        #expect(limit.refuses("b", at: start) == nil)
    }

    @Test func `a refusal takes nothing, and after what it says there is room`() throws {
        let limit = RateLimit<String>(perSecond: 1)
        #expect(limit.refuses("a", at: start) == nil)
        var wait = 0
        for _ in 0..<100 { wait = try #require(limit.refuses("a", at: start)) }
        #expect(limit.refuses("a", at: start + .seconds(wait)) == nil)
    }

    @Test func `no bucket is forgotten while it counts, however many there are`() {
        let limit = RateLimit<String>(perSecond: 1)
        #expect(limit.refuses("a", at: start) == nil)
        for number in 0..<25_000 { #expect(limit.refuses("\(number)", at: start) == nil) }
        #expect(limit.refuses("a", at: start) == 1)
        #expect(limit.refuses("0", at: start + .milliseconds(500)) == 1)
        #expect(limit.refuses("0", at: start + .seconds(1)) == nil)
    }

    @Test func `buckets that are full are forgotten, so that ever new ones cost no ever more memory`() {
        let limit = RateLimit<Int>(perSecond: 2)
        for second in 0..<100 {
            let now = start + .seconds(second)
            for number in 0..<6000 { #expect(limit.refuses(second * 6000 + number, at: now) == nil) }
            #expect(limit.count <= 18_000)
        }
    }
}
