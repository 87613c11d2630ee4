/// When the readers of a closing server leave: evenly, so that the servers that take them over meet no crowd.
struct Departures {
    private let count: Int
    /// From the first departure to the last.
    let span: Duration

    /// Readers per second; more if the window is too short for that.
    private static let rate = 1000
    /// Up to this many leave at once.
    private static let few = 100

    init(of count: Int, within window: Duration) {
        self.count = count
        span = count <= Self.few ? .zero : min(window, .seconds(count) / Self.rate)
    }

    /// - Parameter index: below the count.
    func time(of index: Int) -> Duration { span * index / count }
}
