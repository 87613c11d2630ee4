import Testing

@testable import HTTPCore

@Suite struct InputSideTests {
    private enum Event { case wake(Readiness), took(Transfer, isLast: Bool) }

    private static let drained = InputSide.drained
    private static let hungUp = InputSide.hungUp(isReadable: true)
    private static let blocked = InputSide.hungUp(isReadable: false)

    @Test(
        arguments: [
            // An edge is remembered until a read finds nothing left.
            (drained, .wake(.input), .readable), (.readable, .wake(.input), .readable),
            (.readable, .took(.moved(9), isLast: false), .readable),
            (.readable, .took(.moved(1), isLast: true), drained),
            (.readable, .took(.blocked, isLast: true), drained), (drained, .wake(.output), .readable),
            // Behind a hang-up only a read finds the end, however little the one before it found.
            (drained, .wake(.hangup), hungUp), (.readable, .wake([.input, .inputEnd]), hungUp),
            (hungUp, .took(.moved(1), isLast: true), hungUp), (hungUp, .took(.blocked, isLast: true), blocked),
            (blocked, .wake(.output), hungUp), (hungUp, .wake(.input), hungUp),
            // The end is final, and may come without a hang-up.
            (.readable, .took(.ended, isLast: true), .ended), (hungUp, .took(.ended, isLast: true), .ended),
            (.ended, .wake([.input, .hangup]), .ended), (.readable, .took(.failed, isLast: true), .readable),
        ] as [(InputSide, Event, InputSide)])
    private func `each event leads to one state`(_ before: InputSide, _ event: Event, _ after: InputSide) {
        var input = before
        switch event {
        case .wake(let readiness): input.wake(readiness)
        case .took(let result, let isLast): input.took(result, isLast: isLast)
        }
        #expect(input == after)
    }

    @Test func `what can be read, and whether the peer has hung up, follow from the state`() {
        let states = [.readable, Self.drained, Self.hungUp, Self.blocked, .ended]
        #expect(states.map(\.isReadable) == [true, false, true, false, false])
        #expect(states.map(\.hasHungUp) == [false, false, true, true, true])
    }
}
