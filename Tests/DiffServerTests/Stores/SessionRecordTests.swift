import SnapshotKit
import Testing

@testable import diffserver

/// Which records a process reads.
struct SessionRecordTests {
    private let hash = KeyedHash(seed: 1, 2)

    private func record(_ replacing: (String) -> String = { $0 }) throws -> SessionRecord {
        let state = try Snapshot(json: Array("[{\"id\":1,\"content\":\"x\"},2]".utf8))
        let session = Writing(bounds: .init(), hash: hash, name: "a")
            .firstSession(state, settings: .init(timeToLive: .seconds(60), ignored: []), after: nil, maker: nil)
        let record = SessionRecord(session)
        return SessionRecord(meta: Array(replacing(String(decoding: record.meta, as: UTF8.self)).utf8), head: record.head)
    }

    @Test func `what was written is read`() throws {
        let session = try record().session(named: "a", hash: hash)
        #expect(session.head.revision.sequence == 1 && session.head.snapshot.rowCount == 2)
        #expect(SessionRecord(session).head == (try record()).head)
    }

    @Test func `a record whose head is not that of its revision is damaged`() throws {
        #expect(throws: SessionRecord.Failure.damaged) { try record().session(named: "b", hash: hash) }
        var other = try record()
        other.head = Array("[{\"id\":1,\"content\":\"y\"},2]".utf8)
        #expect(throws: SessionRecord.Failure.damaged) { try other.session(named: "a", hash: hash) }
    }

    @Test func `a record of the format before is read, whose digests were others, and one of the format to come is not`() throws {
        let digest = { (text: String) in
            text.replacing(/"format":2,"revision":"1-[0-9a-f]{16}"/, with: "\"format\":1,\"revision\":\"1-0123456789abcdef\"")
        }
        let session = try record(digest).session(named: "a", hash: hash)
        #expect(session.head.revision.text == "1-0123456789abcdef")
        // The same state makes no revision of it; marks make one, with the digest that the state has.
        let writing = Writing(bounds: .init(), hash: hash, name: "a")
        let same = try Snapshot(json: Array("[{\"id\":1,\"content\":\"x\"},2]".utf8))
        #expect(writing.session(after: session, same, maker: nil).0.head.revision == session.head.revision)
        let (marked, marks) = try session.head.snapshot.applying(EditBatch(json: #"[{"op":"reload","items":[2]}]"#))
        let after = writing.session(after: session, marked, marks: marks, maker: nil).0
        #expect(after.head.revision.text == "2-0123456789abcdef")
        #expect(throws: SessionRecord.Failure.format(3)) {
            try record { $0.replacing("\"format\":2", with: "\"format\":3") }.session(named: "a", hash: hash)
        }
    }
}
