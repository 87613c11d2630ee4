@testable import DiffSessions

extension History.Bounds {
    init(revisions: Int = 64, age: Duration = .seconds(3600), bytes: Int = 1 << 20) {
        self.init()
        (self.revisions, self.age, self.bytes) = (revisions, age, bytes)
    }
}
