import Testing

@testable import HTTPCore

@Suite struct IntakeTests {
    private func changes(_ intake: inout Intake, _ changes: [(inout Intake) -> Bool]) -> [Bool] {
        changes.map { $0(&intake) }
    }

    @Test func aPauseEndsAndTheEndDoesNot() {
        let (pause, resume, end) = (
            { (intake: inout Intake) in intake.pause() }, { (intake: inout Intake) in intake.resume() },
            { (intake: inout Intake) in intake.end() }
        )
        var intake = Intake.open
        #expect(changes(&intake, [resume, pause, pause, resume]) == [false, true, false, true])
        // What is accepted last may find no descriptor: that must not open it again.
        #expect(changes(&intake, [end, pause, resume, end]) == [true, false, false, false])
        #expect(intake == .ended)
        var paused = Intake.open
        #expect(changes(&paused, [pause, end, resume]) == [true, false, false])
        #expect(paused == .ended)
    }
}
