import DiffClock
import Testing

@Suite struct WorkCostTests {
    @Test func aTurnIsTheMostThatALoopDoes() {
        #expect(!WorkCost.iteration.isLong)
        #expect(!WorkCost.state(512 * 1024).isLong && WorkCost.state(512 * 1024 + 1).isLong)
        #expect((WorkCost.iteration + .state(1)).isLong)
    }

    @Test func eachKindOfWorkIsEstimatedInTheSameUnit() {
        #expect(WorkCost.text(1000) == .state(2000) && WorkCost.compression(of: 1000) == .state(4000))
        #expect(WorkCost.rows(512) == .iteration && WorkCost.state(1000, times: 3) == .state(3000))
    }

    @Test func whatIsDoneMoreThanOnceCostsMore() {
        #expect(!WorkCost.text(64 * 1024, times: 4).isLong && WorkCost.text(64 * 1024, times: 5).isLong)
    }
}
