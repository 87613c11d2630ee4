import SnapshotKit

@testable import DiffSessions
@testable import DiffStores

extension History.Bounds {
    init(revisions: Int = 64, age: Duration = .seconds(3600), bytes: Int = 1 << 20) {
        self.init()
        (self.revisions, self.age, self.bytes) = (revisions, age, bytes)
    }
}

extension SessionTable.Bounds {
    init(bytes: Int = 512 << 20, sessions: Int = 100_000, awake: Int = 4096, readers: Int = 10_000) {
        self.init()
        (self.bytes, self.sessions, self.awake, self.readers) = (bytes, sessions, awake, readers)
    }
}
