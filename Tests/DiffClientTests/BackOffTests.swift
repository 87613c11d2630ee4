import Foundation
import Testing

@testable import DiffClient

@Suite("Waiting before asking again")
struct BackOffTests {
    @Test(
        "pauses double, end at the longest, and are chance by half",
        arguments: [
            (0, nil, 0.0, 0.5), (0, nil, 1.0, 1.0), (1, nil, 1.0, 2.0), (4, nil, 0.0, 8.0), (5, nil, 1.0, 30.0),
            (1000, nil, 1.0, 30.0),
            (0, 7.0, 0.0, 7.5), (9, 7.0, 1.0, 8.0), (0, 0.0, 0.0, 0.5), (0, 1e9, 1.0, 86_401.0),
        ] as [(Int, Double?, Double, Double)])
    func pauses(failures: Int, retryAfter: Double?, chance: Double, seconds: Double) {
        let pause = ListClient.BackOff().pause(after: failures, retryAfter: retryAfter, chance: chance)
        #expect(abs(pause - seconds) < 1e-9)
    }

    @Test(
        "Retry-After is seconds or a date",
        arguments: [
            ("0", 0), ("120", 120), ("Sat, 21 Nov 2026 12:00:30 GMT", 30), ("Sat, 21 Nov 2026 11:59:59 GMT", nil),
            ("-1", nil),
            ("soon", nil), ("", nil),
        ] as [(String, TimeInterval?)])
    func retryAfter(text: String, seconds: TimeInterval?) {
        let noon = Date(timeIntervalSince1970: 1_795_262_400)
        #expect(ServerProblem.delay(text, from: noon) == seconds)
    }
}
