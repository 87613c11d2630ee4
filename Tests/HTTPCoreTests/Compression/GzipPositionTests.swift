import Testing

@testable import DiffClock
@testable import HTTPCore

struct GzipPositionTests {
    private let budget = MemoryBudget()

    /// Streams that write the same or different pieces, of all sizes, in any order: each stream is one gzip member,
    /// whose checksum zlib verifies, and each piece can be read as soon as it arrives.
    @Test(arguments: 0..<20)
    func piecesAreOneMember(seed: Int) throws {
        var chance = Chance(seed)
        let pieces = (0..<12).map { _ in chance.piece() }
        let shared = pieces.map { SharedBody(partOfStream: $0, in: budget) }
        for _ in 0..<4 {
            let deflater = Deflater(.pieces)
            let inflater = Inflater()
            var position = GzipPosition.start
            var (written, read): ([UInt8], [UInt8]) = ([], [])
            #expect(has(GzipPosition.header[...], inflater, &read))
            for _ in 0..<chance.number(below: 12) {
                let index = chance.number(below: pieces.count)
                let isShared = chance.number(below: 2) == 0
                let next = position.advanced(
                    by: pieces[index][...], of: isShared ? shared[index] : nil, with: deflater, in: budget)
                position = next.position
                written += pieces[index]
                #expect(has(next.piece.bytes, inflater, &read))
                #expect(read == written)
            }
            #expect(has(position.end[...], inflater, &read))
            #expect(inflater.isComplete && read == written)
        }
    }

    private func has(_ piece: ArraySlice<UInt8>, _ inflater: Inflater, _ read: inout [UInt8]) -> Bool {
        piece.withUnsafeBytes { inflater.inflate($0, into: &read, limit: .max) } == .more
    }

    @Test func streamsAtOnePlaceShareWhatFollows() throws {
        let (one, other) = (Deflater(.pieces), Deflater(.pieces))
        let (hello, world) = (Array("hello".utf8)[...], Array("world".utf8)[...])
        let here = GzipPosition.start.advanced(by: hello, of: nil, with: one, in: budget).position
        #expect(GzipPosition.start.advanced(by: hello, of: nil, with: other, in: budget).position === here)
        let there = here.advanced(by: world, of: nil, with: one, in: budget).position
        #expect(there !== here)
        #expect(here.advanced(by: world, of: nil, with: other, in: budget).position === there)
        #expect(here.advanced(by: hello, of: nil, with: other, in: budget).position !== there)
    }

    @Test func whatIsAlikeIsSmall() throws {
        let deflater = Deflater(.pieces)
        var chance = Chance(1)
        let event = (0..<600).map { _ in chance.letter() }
        let first = GzipPosition.start.advanced(by: event[...], of: nil, with: deflater, in: budget)
        let second = first.position.advanced(by: (event + [0x21])[...], of: nil, with: deflater, in: budget)
        #expect(first.piece.count > 300)
        #expect(second.piece.count < 20)
    }

    /// Streams' memory is counted, bounded, and released with them; when memory is short, no tail is kept.
    @Test func memoryIsCounted() throws {
        let budget = MemoryBudget(limit: 1_000_000)
        let deflater = Deflater(.pieces)
        var chance = Chance(2)
        let large = (0..<40_000).map { _ in chance.letter() }
        do {
            var position = GzipPosition.start
            for _ in 0..<5 {
                position = position.advanced(by: large[...], of: nil, with: deflater, in: budget).position
            }
            #expect((GzipPosition.maxTail...9 * 1024).contains(budget.inUse))
            for _ in 0..<5 {
                position = position.advanced(by: large[..<50], of: nil, with: deflater, in: budget).position
            }
            #expect((GzipPosition.maxTail...9 * 1024).contains(budget.inUse))
            budget.charge(600_000)
            position = position.advanced(by: large[..<50], of: nil, with: deflater, in: budget).position
            #expect(budget.inUse < 600_000 + 1000)
        }
        #expect(budget.inUse == 600_000)
    }

    /// A source of small random values.
    private struct Chance {
        private var generator: SplitMix64

        init(_ seed: Int) { generator = SplitMix64(seed: UInt64(seed)) }

        mutating func number(below bound: Int) -> Int { generator.below(bound) }

        mutating func letter() -> UInt8 { UInt8(ascii: "a") + UInt8(number(below: 26)) }

        /// Most pieces are as small as events; some are larger than the longest tail.
        mutating func piece() -> [UInt8] {
            let count = 1 + number(below: [10, 1000, 20_000, 30_000][number(below: 4)])
            let word = (0..<7).map { _ in letter() }
            return (0..<count).map { number(below: 9) == 0 ? letter() : word[$0 % 7] }
        }
    }
}
