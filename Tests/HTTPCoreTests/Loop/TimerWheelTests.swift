import Testing

@testable import DiffClock
@testable import HTTPCore

@Suite struct TimerWheelTests {
    private static let tick = TimerWheel.tick

    @Test func nothingIsEarlyAndNothingIsLateByMoreThanATick() {
        var random = SplitMix64(seed: 1)
        let wheel = TimerWheel(now: Instant(nanoseconds: 0))
        var now = Instant(nanoseconds: 0)
        var fired: [Int] = []
        var due: [Int: Instant] = [:]
        var alarms: [Alarm] = []
        for index in 0..<200 { alarms.append(Alarm { fired.append(index) }) }
        for _ in 0..<20_000 {
            let index = Int.random(in: 0..<200, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                wheel.disarm(alarms[index])
                due[index] = nil
            default:
                // From a moment to several turns of the wheel.
                let moment = now + Int64.random(in: 0..<100_000_000_000, using: &random)
                wheel.arm(alarms[index], at: moment)
                due[index] = moment
            }
            now = now + Int64.random(in: 0..<1_000_000_000, using: &random)
            fired = []
            wheel.expired(by: now).forEach { $0.fire() }
            for index in fired {
                #expect(due[index].map { $0 <= now } == true, "fired early")
                due[index] = nil
            }
            for (index, moment) in due { #expect(moment + Self.tick > now, "\(index) is late") }
            #expect(wheel.count == due.count)
        }
    }

    @Test func whatOneAlarmTakesBackDoesNotRing() {
        let wheel = TimerWheel(now: Instant(nanoseconds: 0))
        var rung: [Int] = []
        var alarms: [Alarm] = []
        for index in 0..<3 {
            alarms.append(
                Alarm {
                    rung.append(index)
                    for other in alarms { wheel.disarm(other) }
                })
        }
        for alarm in alarms { wheel.arm(alarm, at: Instant(nanoseconds: Self.tick)) }
        wheel.expired(by: Instant(nanoseconds: 5 * Self.tick)).forEach { $0.fire() }
        #expect(rung.count == 1)
        // An alarm rearmed instead of ringing rings at its new time.
        wheel.arm(alarms[0], at: Instant(nanoseconds: 10 * Self.tick))
        wheel.expired(by: Instant(nanoseconds: 20 * Self.tick)).forEach { $0.fire() }
        #expect(rung.count == 2 && rung.last == 0)
    }

    @Test(arguments: [0, 1, 62, 63, 64, 100, 4031, 4094, 4095] as [Int64])
    func `the sleep ends at the next alarm, wherever in the ring it begins`(_ place: Int64) {
        let start = place * Self.tick
        for milliseconds in [Int64(1), 8, 9, 500, 511, 512, 513, 4096, 32_000, 32_760] {
            let wheel = TimerWheel(now: Instant(nanoseconds: start))
            wheel.arm(Alarm {}, at: Instant(nanoseconds: start + milliseconds * 1_000_000))
            let sleep = (wheel.nextDue().nanoseconds - start) / 1_000_000
            #expect(sleep >= milliseconds && sleep < milliseconds + 9)
        }
    }

    @Test func theSleepEndsAtTheNextAlarm() {
        var wheel = TimerWheel(now: Instant(nanoseconds: 0))
        #expect(wheel.nextDue() == .never)
        let alarm = Alarm {}
        for milliseconds in [Int64(1), 8, 9, 500, 511, 512, 513, 4096, 32_000, 32_760] {
            wheel.arm(alarm, at: Instant(nanoseconds: milliseconds * 1_000_000))
            let sleep = wheel.nextDue().nanoseconds / 1_000_000
            #expect(sleep >= milliseconds && sleep < milliseconds + 9)
            wheel.disarm(alarm)
            _ = wheel.expired(by: Instant(nanoseconds: 0))
            wheel = TimerWheel(now: Instant(nanoseconds: 0))
        }
        // A postponed alarm is found in its old slot and linked again.
        wheel.arm(alarm, at: Instant(nanoseconds: 80_000_000))
        wheel.arm(alarm, at: Instant(nanoseconds: 800_000_000))
        #expect(wheel.expired(by: Instant(nanoseconds: 100_000_000)).isEmpty)
        #expect(wheel.expired(by: Instant(nanoseconds: 799_000_000)).isEmpty)
        #expect(wheel.expired(by: Instant(nanoseconds: 808_000_000)).count == 1)
    }
}
