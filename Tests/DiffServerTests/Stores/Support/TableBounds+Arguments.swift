@testable import DiffStores

extension SessionTable.Bounds {
    init(bytes: Int = 512 << 20, sessions: Int = 100_000, awake: Int = 4096, readers: Int = 10_000) {
        self.init()
        (self.bytes, self.sessions, self.awake, self.readers) = (bytes, sessions, awake, readers)
    }
}
