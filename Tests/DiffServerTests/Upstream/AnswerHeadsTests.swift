import HTTPCore
import Testing

@testable import DiffUpstream

@Suite struct AnswerHeadsTests {
    /// The first verdict on any of the lines.
    private func verdict(_ lines: [String]) -> String? {
        var heads = AnswerHeads()
        return lines.lazy.compactMap { heads.take("\($0)\r\n".utf8) }.first
    }

    @Test(
        arguments: [
            ([], true), (["HTTP/1.1 200 OK", "Content-Encoding: gzip", ""], true),
            (["Content-Encoding: identity, gzip"], true), (["content-ENCODING:x-gzip"], true),
            (["Transfer-Encoding: chunked", "Content-Encoding: gzip"], true), (["Content-Encoding:"], true),
            (["Content-Encoding: gzip, gzip"], false), (["Content-Encoding: gzip,deflate"], false),
            (["Content-Encoding: gzip", "Content-Encoding: gzip"], false),
            (["Transfer-Encoding: gzip, chunked"], false), (["Content-Encoding: deflate"], false),
            (["Content-Encoding: br"], false), (["Content-Encoding: zstd"], false), (["Content-Encoding: x"], false),
            (["X-Content-Encoding: gzip, gzip, gzip"], true), (["Vary: content-encoding, gzip, gzip"], true),
        ] as [([String], Bool)])
    func `a body is compressed once, in a coding that was asked for`(lines: [String], isTaken: Bool) {
        #expect((verdict(lines) == nil) == isTaken)
    }

    @Test func `heads have an end, whatever they are of`() {
        let most = AnswerHeads.maxFields
        #expect(verdict([String](repeating: "a: b", count: most)) == nil)
        #expect(verdict([String](repeating: "a: b", count: most + 1)) != nil)
        let interim = ["HTTP/1.1 100 Continue", ""]
        #expect(verdict([[String]](repeating: interim, count: most / 2 + 1).flatMap(\.self)) != nil)
        let long = String(repeating: "x", count: AnswerHeads.maxBytes / 2)
        #expect(verdict([long]) == nil)
        #expect(verdict([long, long]) != nil)
    }
}
