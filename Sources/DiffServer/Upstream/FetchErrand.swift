import HTTPCore

/// The errand of a list that fetches itself: nobody asked for it.
final class FetchErrand: Errand {
    let session: String
    private let upstream: Upstream
    nonisolated(unsafe) var isLong = false

    init(_ session: String, _ upstream: Upstream) { (self.session, self.upstream) = (session, upstream) }

    var service: DiffService { upstream.service }
    var loop: EventLoop { upstream.loop }
    var identity: Identity { .anyone }
    var passes: Int { 1 }
}
