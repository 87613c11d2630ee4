/// The times at which a closing server's readers leave: evenly spread, so that the other servers meet no crowd.
struct DrainSchedule {
    private let count: Int
    /// The time from the first departure to the last.
    let span: Duration

    /// Readers per second, unless the window is too short for that rate.
    private static let rate = 1000
    /// Up to this many leave at once.
    private static let few = 100

    init(of count: Int, within window: Duration) {
        self.count = count
        span = count <= Self.few ? .zero : min(window, .seconds(count) / Self.rate)
    }

    func time(of index: Int) -> Duration { span * index / count }
}
