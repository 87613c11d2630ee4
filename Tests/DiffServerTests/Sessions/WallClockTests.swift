import Testing

@testable import DiffSessions

@Suite("Times of day, as clients are told them")
struct WallClockTests {
    @Test("a time after a span is at most a second early, whatever the fractions of now and the span")
    func fractions() {
        for milliseconds in stride(from: 0, to: 3000, by: 70) {
            let before = WallTime.milliseconds
            let time = WallTime.after(.milliseconds(milliseconds))
            let after = WallTime.milliseconds
            #expect(((before + milliseconds) / 1000...(after + milliseconds) / 1000).contains(Int(time.seconds)))
        }
    }
}
