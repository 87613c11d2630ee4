import DiffStores
import HTTPCore
import Testing

@testable import DiffUpstream

@Suite struct SessionSourcesTests {
    private typealias Answer = Result<Void, SourceFailure>

    @Test func `one success is enough, and only what all lack is missing`() {
        let (done, missing, late): (Answer, Answer, Answer) = (
            .success(()), .failure(.missing), .failure(.unavailable(retryAfter: 3))
        )
        let table: [([Answer], SourceFailure?)] = [
            ([done, missing], nil), ([late, done], nil), ([missing, missing], .missing),
            ([missing, late], .unavailable(retryAfter: 3)), ([late, late], .unavailable(retryAfter: 3)),
        ]
        for (answers, expected) in table {
            let failure: SourceFailure? =
                if case .failure(let failure) = SessionSources.joined(answers) { failure } else { nil }
            #expect(failure == expected)
        }
    }

    @Test func `names of sections are apart, in leases and in metrics`() {
        #expect(SourceName("a").text == "a" && SourceName("a", section: "b/c").text == "a/b/c")
        #expect(SourceName("a").labels == #"list="a""#)
        #expect(SourceName("a", section: #"q"\\"#).labels == #"list="a",section="q\"\\\\""#)
        #expect(!SourceName("a", section: "\u{E9}").isSame(as: SourceName("a", section: "e\u{301}")))
    }
}
