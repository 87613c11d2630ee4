/// When the readers of a server that goes down leave: evenly, so that those who take them over meet no crowd.
struct Departures {
    private let count: Int
    /// From the first to the last.
    let span: Duration

    /// So many readers a second, or more where the window is too short for that.
    private static let rate = 1000
    /// So many leave at once.
    private static let few = 100

    init(of count: Int, within window: Duration) {
        self.count = count
        span = count <= Self.few ? .zero : min(window, .seconds(count) / Self.rate)
    }

    /// - Parameter index: below the count.
    func time(of index: Int) -> Duration { span * index / count }
}
