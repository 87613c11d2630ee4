import CDiffSystem
import Testing

@testable import DiffClock
@testable import HTTPCore

@Suite struct DescriptorWatchTests {
    /// Two ends of a stream; the first can be read once the second is written.
    private func ends() -> [Int32] {
        var ends: [Int32] = [-1, -1]
        socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
        return ends
    }

    /// Descriptors that are always ready, whose events take longer than one iteration has for them.
    @Test func nobodyStandsBehindOldEventsOfABusyDescriptor() throws {
        let loop = try EventLoop.standalone(polling: .ofTests)
        defer { loop.end() }
        let (busy, late) = ((0..<32).map { _ in ends() }, ends())
        defer { (busy + [late]).joined().forEach { close($0) } }
        for each in busy { write(each[1], "x", 1) }
        let (watches, handled) = (Locked<[DescriptorWatch]>([]), Locked((count: 0, since: 0, until: 0)))
        loop.execute {
            for each in busy {
                let watch = DescriptorWatch(each[0], on: loop) { _ in
                    pauseThread(.milliseconds(1), "a handler that is slow")
                    let isTime = handled.withLock {
                        $0.count += 1
                        if $0.count == 300 { $0.since = $0.count }
                        return $0.count == 300
                    }
                    if isTime { write(late[1], "x", 1) }
                }
                #expect(watch.wait(for: .input))
                watches.withLock { $0.append(watch) }
            }
            let watch = DescriptorWatch(late[0], on: loop) { _ in
                handled.withLock { $0.until = $0.count }
                watches.withLock { $0 }.forEach { $0.end() }
            }
            #expect(watch.wait(for: .input))
            watches.withLock { $0.append(watch) }
        }
        #expect(eventually { handled.withLock { $0.until } > 0 })
        #expect(handled.withLock { $0.until - $0.since } <= 2 * busy.count)
    }

    @Test func whatIsNotReadIsReportedAgain() throws {
        let loop = try EventLoop.standalone(polling: .ofTests)
        defer { loop.end() }
        let ends = ends()
        defer { ends.forEach { close($0) } }
        write(ends[1], "x", 1)
        let (watches, reports) = (Locked<[DescriptorWatch]>([]), Locked<[UInt16]>([]))
        loop.execute {
            let watch = DescriptorWatch(ends[0], on: loop) { readiness in
                reports.withLock { $0.append(readiness.rawValue) }
                let watch = watches.withLock { $0[0] }
                switch reports.withLock({ $0.count }) {
                case 3: _ = watch.wait(for: .output)
                case 5: watch.end()
                default: break
                }
            }
            watches.withLock { $0.append(watch) }
            _ = watch.wait(for: .input)
        }
        #expect(eventually { reports.withLock { $0.count } >= 5 })
        let (input, output) = (Readiness.input.rawValue, Readiness.output.rawValue)
        #expect(reports.withLock { $0 } == [input, input, input, output, output])
    }
}
