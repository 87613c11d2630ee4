// Requests to other servers use libcurl, which brings proxies, certificates, HTTP/2 and connection reuse. Its multi
// interface says which descriptors to watch and when to call it (`curl_multi_socket_action`). A separate loop does
// that, so no thread waits for another server, and no handshake delays a loop that serves clients.

import CDiffCURL
import DiffStores
import HTTPCore

/// The requests to other servers under way. Confined to its loop.
package final class Transfers: @unchecked Sendable {
    private let loop: EventLoop
    private let budget: MemoryBudget
    private let multi: UnsafeMutableRawPointer
    private var watches: [Int32: DescriptorWatch] = [:]
    private var timer: Timer?
    private var active: [UnsafeMutableRawPointer: Transfer] = [:]
    /// Requests under way by origin. Waiting ones are queued here: in libcurl each would take 13 KB.
    private var origins: [Substring: Origin] = [:]
    private let maxOfHost: Int

    private struct Origin {
        var active = 0
        var waiting = Queue<Waiting>()
    }

    private typealias Waiting = (request: Transfer.Request, deadline: Instant, done: Transfer.Completion)

    /// The most connections to all hosts together.
    private static let maxConnections = 256

    /// - Parameter maxOfHost: the most simultaneous requests to one origin. Further ones wait, while their time runs.
    package init(on loop: EventLoop, budget: MemoryBudget, maxOfHost: Int = 32) {
        guard let multi = curl.multi_init() else { preconditionFailure("libcurl has no memory") }
        (self.loop, self.budget, self.multi, self.maxOfHost) = (loop, budget, multi, maxOfHost)
        let context = Unmanaged.passUnretained(self).toOpaque()
        cdiff_curl_multi_set_number(curl, multi, CURLMOPT_MAX_HOST_CONNECTIONS, maxOfHost)
        cdiff_curl_multi_set_number(curl, multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, Self.maxConnections)
        cdiff_curl_multi_on_socket(
            curl, multi,
            { _, socket, what, context, _ in
                Unmanaged<Transfers>.fromOpaque(context!).takeUnretainedValue().watch(socket, what)
                return 0
            }, context)
        cdiff_curl_multi_on_timer(
            curl, multi,
            { _, milliseconds, context in
                Unmanaged<Transfers>.fromOpaque(context!).takeUnretainedValue().setTimer(milliseconds)
                return 0
            }, context)
    }

    deinit { _ = curl.multi_cleanup(multi) }

    /// Starts a request. `done` is called once, on the loop, after this has returned.
    package func start(_ request: Transfer.Request, _ done: @escaping Transfer.Completion) {
        precondition(loop.isCurrent, "confined to its loop")
        let origin = Self.origin(of: request.url)
        let next: Waiting = (request, .now + request.timeout, done)
        guard origins[origin]?.active ?? 0 < maxOfHost else { return origins[origin]!.waiting.append(next) }
        origins[origin, default: Origin()].active += 1
        begin(next, in: origin)
    }

    private func begin(_ next: Waiting, in origin: Substring) {
        add(
            Transfer(next.request, until: next.deadline, share: MemoryShare(of: budget)) { [self] result in
                leave(origin)
                next.done(result)
            })
    }

    /// Starts the next request to an origin in place of a finished one.
    private func leave(_ origin: Substring) {
        while let next = origins[origin]?.waiting.popFirst() {
            if next.deadline > .now { return begin(next, in: origin) }
            next.done(.failure(Transfer.Failure(reason: "too many requests to it are in flight")))
        }
        origins[origin]!.active -= 1
        if origins[origin]!.active == 0 { origins[origin] = nil }
    }

    /// The scheme, host and port of a URL, as written.
    private static func origin(of url: String) -> Substring {
        let parts = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        return parts.count > 2 ? url[..<parts[2].endIndex] : url[...]
    }

    private func add(_ transfer: Transfer) {
        active[transfer.easy] = transfer
        _ = curl.multi_add_handle(multi, transfer.easy)
    }

    // MARK: What libcurl wants

    private func watch(_ socket: Int32, _ what: Int32) {
        guard what != CURL_POLL_REMOVE else {
            watches.removeValue(forKey: socket)?.end()
            return
        }
        var readiness: Readiness = []
        if what & CURL_POLL_IN != 0 { readiness.insert(.input) }
        if what & CURL_POLL_OUT != 0 { readiness.insert(.output) }
        let watch =
            watches[socket]
            ?? DescriptorWatch(socket, on: loop) { [unowned self] readiness in act(on: socket, readiness) }
        watches[socket] = watch
        // If the kernel has no memory for the watch, the transfer times out.
        _ = watch.wait(for: readiness)
    }

    private func setTimer(_ milliseconds: Int) {
        timer?.cancel()
        timer = nil
        guard milliseconds >= 0 else { return }
        timer = loop.schedule(after: .milliseconds(milliseconds)) { [unowned self] in
            timer = nil
            act(on: CURL_SOCKET_TIMEOUT, [])
        }
    }

    private func act(on socket: Int32, _ readiness: Readiness) {
        var mask: Int32 = 0
        if readiness.contains(.input) { mask |= CURL_CSELECT_IN }
        if readiness.contains(.output) { mask |= CURL_CSELECT_OUT }
        if !readiness.isDisjoint(with: .failure) { mask |= CURL_CSELECT_ERR }
        var running: Int32 = 0
        _ = curl.multi_socket_action(multi, socket, mask, &running)
        finish()
    }

    private func finish() {
        var left: Int32 = 0
        while let message = curl.multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle,
                let transfer = active.removeValue(forKey: easy)
            else { continue }
            let code = cdiff_curl_result(message)
            _ = curl.multi_remove_handle(multi, easy)
            switch transfer.ending(code) {
            case .redirected(let next): add(next)
            case .done(let result): transfer.done(result)
            }
        }
    }
}
