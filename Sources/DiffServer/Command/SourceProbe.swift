import DiffService
import DiffUpstream
import Dispatch
import HTTPCore
import SnapshotKit

/// Asks a source once, without a server.
enum SourceProbe {
    struct Answer {
        var body: [UInt8]
        /// How long it took, in words.
        let time: String
    }

    /// Waits for the answer.
    ///
    /// - Throws: if there is none, or its status is not 200.
    static func ask(_ list: ListMatch) throws(Transfer.Failure) -> Answer {
        guard let source = list.definition.source, let url = list.sourceURL else {
            throw .noSource
        }
        if let fault = CURLLibrary.fault { throw Transfer.Failure(reason: "a fetch needs libcurl: \(fault)") }
        let loop: EventLoop
        do throws(ListenError) { loop = try EventLoop.standalone(polling: .preferred) } catch { fail("\(error)") }
        // A thread that does not block the server's signals must not outlive this.
        defer { loop.end() }
        let request = Transfer.Request(source, at: url, maxBytes: ServiceSettings().maxBodyBytes)
        let start = Instant.now
        let result = Locked<Result<Transfer.Answer, Transfer.Failure>?>(nil)
        let hasArrived = DispatchSemaphore(value: 0)
        loop.execute {
            let transfers = Transfers(on: loop, budget: MemoryBudget())
            transfers.start(request) { found in
                result.withLock { $0 = found }
                // They are closed on their loop, once they have finished with this.
                loop.execute { [transfers] in withExtendedLifetime(transfers) { _ = hasArrived.signal() } }
            }
        }
        hasArrived.wait()
        let answer = try result.withLock { $0 }!.get()
        let time = "\(Int((.now - start) / .milliseconds(1))) ms"
        guard answer.status == 200 else { throw Transfer.Failure(reason: "it answered \(answer.status) in \(time)") }
        var body = answer.body
        _ = body.replaceLoneSurrogates()
        return Answer(body: body, time: time)
    }
}

extension Transfer.Failure {
    static let noSource = Transfer.Failure(reason: "no list with this name has a source")
}
