import Testing

@testable import HTTPCore

@Suite struct ListenerStateTests {
    private func changes(_ state: inout ListenerState, _ changes: [(inout ListenerState) -> Bool]) -> [Bool] {
        changes.map { $0(&state) }
    }

    @Test func aPauseEndsAndTheEndDoesNot() {
        let (pause, resume, end) = (
            { (state: inout ListenerState) in state.pause() }, { (state: inout ListenerState) in state.resume() },
            { (state: inout ListenerState) in state.end() }
        )
        var state = ListenerState.open
        #expect(changes(&state, [resume, pause, pause, resume]) == [false, true, false, true])
        // The last accept may find no descriptor: that must not open it again.
        #expect(changes(&state, [end, pause, resume, end]) == [true, false, false, false])
        #expect(state == .ended)
        var paused = ListenerState.open
        #expect(changes(&paused, [pause, end, resume]) == [true, true, false])
        #expect(paused == .ended)
    }
}
