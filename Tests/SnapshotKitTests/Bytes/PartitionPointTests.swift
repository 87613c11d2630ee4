import Testing

@testable import SnapshotKit

@Suite struct PartitionPointTests {
    @Test func itIsFoundWhereverItIs() {
        for range in [0..<0, 5..<5, 0..<1, 0..<17, 3..<40] {
            for border in range.lowerBound...range.upperBound {
                #expect(range.partitionPoint { $0 < border } == border)
            }
        }
    }

    @Test func aLongRangeTakesFewQuestions() {
        var asked = 0
        let border = (0..<1 << 30).partitionPoint {
            asked += 1
            return $0 < 123_456_789
        }
        #expect(border == 123_456_789)
        #expect(asked <= 31)
    }
}
