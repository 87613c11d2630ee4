// How a node leaves unnoticed.
//
// 1. For `--drain-delay` it goes on, but `/readyz` is 503 and each answer ends its connection. Balancers that ask take
//    it out, and proxies use up the connections that they kept.
// 2. Streams and held requests end one after another, within half of `--drain`, and go elsewhere. New connections are
//    still served, for a proxy that asks nothing only learns from a refused connection that the node is gone.
// 3. Connections that the kernel has completed are accepted, and the listeners close: from now on proxies are refused,
//    and go elsewhere with a request of which nothing was sent.
// 4. Idle connections close once nobody has used one for a moment, and writes are refused. What is still open is ended
//    by its answer, or by the end of `--drain`.
//
// Writes are taken for that long because a proxy may send another node a request that could not be sent, but not one
// that was answered 503 or broken off, unless it is told to and each request is idempotent. Without a delay there are
// no proxies to wait for.

import CDiffSystem
import DiffService
import HTTPCore
import Synchronization

/// The end of a serving process.
final class Shutdown: Sendable {
    private let server: Server
    private let service: DiffService
    private let delay: Duration
    private let drain: Duration
    /// Whether somebody waits for the end.
    private let isHurried = Atomic<Bool>(false)

    init(_ server: Server, _ service: DiffService, delay: Duration, drain: Duration) {
        (self.server, self.service, self.delay, self.drain) = (server, service, delay, drain)
    }

    /// Ends the process. A signal from a terminal, or a second one, leaves no time. SIGHUP still reloads: withdrawn
    /// secrets must not work until the end.
    func run(after signal: Int32, _ signals: Signals, reload: () -> Void) -> Never {
        service.journal.log("draining")
        if signal == SIGINT, isatty(STDIN_FILENO) == 1 { hurry() }
        service.announceEnd()
        server.announceEnd()
        // On another thread, since a stuck loop may hold the readers' locks.
        SystemThread.start(named: "drain") { self.leave() }
        // The loops close late connections by themselves, unless one is stuck.
        var deadline = Instant.now + (hasNoTime ? .zero : delay + drain) + .seconds(1)
        while let next = signals.wait(until: deadline) {
            if next == SIGHUP {
                reload()
                continue
            }
            hurry()
            deadline = min(deadline, .now + .seconds(1))
        }
        service.journal.log("shutdown timed out; exiting with status 70", level: "error")
        end(Serve.stuckStatus)
    }

    /// The time for the last answers to be sent if there is no other.
    private static let least = Duration.milliseconds(100)
    /// The time for connections begun by clients before the listeners close.
    private static let settling = Duration.milliseconds(200)
    /// The time for proxies to use the connections they kept. Once refused, nginx leaves a node alone for a second.
    private static let quiet = Duration.milliseconds(500)

    private func leave() {
        pause(delay)
        let span = service.dismissReaders(within: drain / 2)
        pause(span)
        let isHurried = hasNoTime
        if isHurried { _ = service.dismissReaders(within: .zero) }
        let patience = isHurried ? .zero : delay
        server.drain(
            within: isHurried ? Self.least : drain - span, settling: min(patience, Self.settling),
            quiet: min(patience, Self.quiet), whenQuiet: { self.service.refuseWrites() },
            completion: {
                self.service.store.close()
                end(0)
            })
        if isHurried { return }
        pause(drain - span)
        if hasNoTime { server.abandon() }
    }

    private var hasNoTime: Bool { isHurried.load(ordering: .relaxed) }

    private func hurry() { isHurried.store(true, ordering: .relaxed) }

    private func pause(_ time: Duration) {
        let end = Instant.now + time
        while !hasNoTime, Instant.now < end {
            let rest = min(end - .now, .milliseconds(20))
            usleep(UInt32(max(0, rest.wholeNanoseconds / 1000)))
        }
    }
}
