import DiffCommand
import DiffService
import DiffUpstream
import Dispatch
import HTTPCore
import SnapshotKit

/// One list of a URL, as a file of lists would have it.
struct SingleList: Sendable {
    var name = "watch"
    var url = ""
    var every = Duration.seconds(5)
    /// `NAME: VALUE`, as curl takes them.
    var headers: [String] = []
    /// Nil if it is guessed.
    var shape: StateShape?

    /// What a page calls it, as it stands in the URL: "orders" of https://example.org/v2/orders.json?all. If there is
    /// no such name, the host.
    var title: Substring {
        let parts = url.prefix { !"?#".contains($0) }.split(separator: "/")
        let last = parts.last ?? ""
        return parts.count > 2 ? last.split(separator: ".").first ?? last : last
    }

    /// The list's entry in a file of lists.
    var entry: String {
        var writer = JSONWriter()
        writer.append(string: name)
        writer.append(": ")
        var list = JSONObject()
        list.object("source") { source in
            source.text("url", url)
            source.name("every")
            let seconds = every / .seconds(1)
            source.writer.append(verbatim: seconds.rounded() == seconds ? "\(Int(seconds))" : "\(seconds)")
            if !headers.isEmpty {
                source.object("headers") { fields in
                    for header in headers {
                        let parts = header.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
                        fields.name(of: parts[0].trimmed)
                        fields.writer.append(string: parts.count > 1 ? parts[1].trimmed : "")
                    }
                }
            }
        }
        if let shape, shape != .native {
            list.name("shape")
            shape.write(into: &list.writer)
        } else if shape == nil {
            list.text("shape", "guess")
        }
        writer.append(list.bytes())
        return String(decoding: writer.bytes(), as: UTF8.self)
    }

    func file(environment: @escaping Environment) throws(UsageError) -> ListsFile {
        let file: ListsFile
        do throws(ListsFileError) {
            file = try ListsFile(json: Array("{\(entry)}".utf8), secret: ListsFile.secrets(environment))
        } catch { throw UsageError(error.messages.joined(separator: "; ")) }
        guard file.list(of: name) != nil else { throw UsageError("\"\(name)\" cannot be a session's name") }
        return file
    }

    func fetch(environment: @escaping Environment) throws(UsageError) -> SourceProbe.Answer {
        guard let list = try file(environment: environment).list(of: name), let feed = list.definition.feeds.first
        else { preconditionFailure("a file of this list alone") }
        do throws(Transfer.Failure) { return try SourceProbe.ask(list, feed) } catch { fail("\(url): \(error.reason)") }
    }
}

/// Asks a source once, without a server.
enum SourceProbe {
    struct Answer {
        var body: [UInt8]
        /// How long it took, in words.
        let time: String
    }

    /// Waits for the answer. Having none, or one with another status than 200, is an error.
    static func ask(_ list: ListMatch, _ feed: ListDefinition.Feed) throws(Transfer.Failure) -> Answer {
        if let fault = CURLLibrary.fault { throw Transfer.Failure(reason: "a fetch needs libcurl: \(fault)") }
        let loop: EventLoop
        do throws(ListenError) { loop = try EventLoop.standalone(polling: .preferred) } catch { fail("\(error)") }
        // A thread that does not block the server's signals must not outlive this.
        defer { loop.end() }
        let request = Transfer.Request(feed.source, at: list.url(of: feed), maxBytes: ServiceSettings().maxBodyBytes)
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
        _ = body.mendJSON()
        return Answer(body: body, time: time)
    }
}

/// A text as one word of a shell (POSIX 2024). One that a terminal would act on has its bytes escaped.
func shellWord(_ text: String) -> String {
    if text.escaped != text {
        let bytes = text.utf8.map { byte in
            switch byte {
            case UInt8(ascii: "'"), UInt8(ascii: "\\"): "\\\(Unicode.Scalar(byte))"
            case 0x20..<0x7F: "\(Unicode.Scalar(byte))"
            default: "\\" + String(repeating: "0", count: byte < 8 ? 2 : byte < 64 ? 1 : 0) + String(byte, radix: 8)
            }
        }
        return "$'\(bytes.joined())'"
    }
    let isPlain =
        !text.isEmpty
        && text.utf8.allSatisfy { byte in
            byte | 0x20 &- UInt8(ascii: "a") < 26 || byte.isDigit || "-._/:@%+,=".utf8.contains(byte)
        }
    return isPlain ? text : "'\(text.replacing("'", with: "'\\''"))'"
}
