import HTTPCore
import SnapshotKit
import Testing

@testable import diffserver

/// Which records a process reads.
struct SessionRecordTests {
    private let hash = KeyedHash(seed: 1, 2)

    private func record(_ replacing: (String) -> String = { $0 }) throws -> SessionRecord {
        let state = try Snapshot(json: Array("[{\"id\":1,\"content\":\"x\"},2]".utf8))
        let session = SessionTransition(name: "a", bounds: .init(), hash: hash, now: .now)
            .firstSession(state, settings: .init(timeToLive: .seconds(60), ignored: []), after: nil, maker: nil)
        let record = SessionRecord(session, by: hash)
        return SessionRecord(
            meta: Array(replacing(String(decoding: record.meta, as: UTF8.self)).utf8), head: record.head)
    }

    /// As a process wrote it that knew of no sum.
    private func unsummed(_ replacing: (String) -> String = { $0 }) throws -> SessionRecord {
        try record { replacing($0.replacing(/,"sum":"[0-9a-f]{16}"}$/, with: "}")) }
    }

    @Test func `what was written is read`() throws {
        let session = try record().session(named: "a", hash: hash, isHead: true)
        #expect(session.head.revision.sequence == 1 && session.head.snapshot.rowCount == 2)
        #expect(SessionRecord(session, by: hash).head == (try record()).head)
    }

    @Test func `a kept shape is read again, and refused by a process that knows of none`() throws {
        let texts = [
            #"{"itemsAt":"/a~1b","idAt":["/type","/id"],"kindAt":"/type","duplicates":"first"}"#,
            #"{"itemsAt":"","map":true,"childrenAt":"/c"}"#,
        ]
        for text in texts {
            let shape = try StateShape(try JSONText(text).slice)
            let settings = Session.Settings(timeToLive: .seconds(60), ignored: [], shape: shape)
            let writing = SessionTransition(name: "a", bounds: .init(), hash: hash, now: .now)
            let session = writing.firstSession(
                try Snapshot(json: "[1]"), settings: settings, after: nil, maker: nil)
            let record = SessionRecord(session, by: hash)
            #expect(String(decoding: record.meta, as: UTF8.self).hasPrefix(#"{"format":4,"#))
            #expect(try record.session(named: "a", hash: hash, isHead: true).settings == settings)
        }
        #expect(throws: SessionRecord.Failure.damaged) {
            try unsummed { $0.replacing("\"replays\":", with: "\"shape\":{\"idAt\":1},\"replays\":") }.session(
                named: "a", hash: hash, isHead: true)
        }
    }

    @Test func `that what is expanded is kept is read again, and refused by a process that keeps nothing`() throws {
        var settings = Session.Settings(timeToLive: .seconds(60), ignored: [])
        settings.keepsExpanded = true
        let session = SessionTransition(name: "a", bounds: .init(), hash: hash, now: .now)
            .firstSession(try Snapshot(json: "[1]"), settings: settings, after: nil, maker: nil)
        let record = SessionRecord(session, by: hash)
        #expect(String(decoding: record.meta, as: UTF8.self).hasPrefix(#"{"format":5,"#))
        #expect(try record.session(named: "a", hash: hash, isHead: true).settings == settings)
    }

    @Test func `a record whose head is not that of its revision is damaged`() throws {
        #expect(throws: SessionRecord.Failure.damaged) { try record().session(named: "b", hash: hash, isHead: true) }
        var other = try record()
        other.head = Array("[{\"id\":1,\"content\":\"y\"},2]".utf8)
        #expect(throws: SessionRecord.Failure.damaged) { try other.session(named: "a", hash: hash, isHead: true) }
    }

    @Test(arguments: [1, 2])
    func `a record of a format before is read, whose digests were others, and one of the format to come is not`(
        _ format: Int
    ) throws {
        let digest = { (text: String) in
            text.replacing(
                /"format":3,"revision":"1-[0-9a-f]{16}"/,
                with: "\"format\":\(format),\"revision\":\"1-0123456789abcdef\"")
        }
        let session = try unsummed(digest).session(named: "a", hash: hash, isHead: true)
        #expect(session.head.revision.text == "1-0123456789abcdef")
        // The same state makes no revision of it; marks make one, with the digest that the state has.
        let writing = SessionTransition(name: "a", bounds: .init(), hash: hash, now: .now)
        let same = try Snapshot(json: Array("[{\"id\":1,\"content\":\"x\"},2]".utf8))
        #expect(writing.session(after: session, same, maker: nil).0.head.revision == session.head.revision)
        let (marked, marks, _) = try session.head.snapshot.applying(EditBatch(json: #"[{"op":"reload","items":[2]}]"#))
        let after = writing.session(after: session, marked, marks: marks, maker: nil).0
        #expect(after.head.revision.text == "2-0123456789abcdef")
        #expect(throws: SessionRecord.Failure.format(6)) {
            try unsummed { $0.replacing("\"format\":3", with: "\"format\":6") }.session(
                named: "a", hash: hash, isHead: true)
        }
    }

    @Test func `a record without a sum is read, and one that its sum does not fit is damaged`() throws {
        #expect(try unsummed().session(named: "a", hash: hash, isHead: true).head.revision.sequence == 1)
        let whole = try record()
        for index in whole.meta.indices {
            var other = whole
            other.meta[index] ^= 1
            // Where it is the sum's own name that is damaged, all else is whole.
            guard let read = try? other.session(named: "a", hash: hash, isHead: true) else { continue }
            #expect(index > whole.meta.count - 26 && SessionRecord(read, by: hash).head == whole.head, "\(index)")
        }
        #expect(throws: SessionRecord.Failure.damaged) {
            try whole.session(named: "a", hash: KeyedHash(seed: 3, 4), isHead: true)
        }
    }

    @Test(arguments: [
        (#""ttl":60"#, #""ttl":9223372036854775807"#), (#""ttl":60"#, #""ttl":604801"#), (#""ttl":60"#, #""ttl":-1"#),
        (#""revision":"1-"#, #""revision":"18446744073709551615-"#),
        (#""replays":[]"#, #""replays":[{"writer":"w","key":"k","fingerprint":"1","status":99,"done":0}]"#),
    ])
    func `numbers that no process writes are damage, and trap nothing`(_ right: String, _ wrong: String) throws {
        #expect(throws: SessionRecord.Failure.damaged) {
            try unsummed { text in
                #expect(text.contains(right))
                return text.replacing(right, with: wrong)
            }.session(named: "a", hash: hash, isHead: true)
        }
    }

    @Test(arguments: [Int.min, -1, 0, .max]) func `any moment can be compared with now`(_ milliseconds: Int) throws {
        let session = try unsummed {
            $0.replacing(/"made":[0-9]+/, with: #""made":\#(milliseconds)"#)
        }.session(named: "a", hash: hash, isHead: true)
        _ = session.resumePoint(Revision("0-0123456789abcdef")!, at: .now, bounds: .init())
        _ = Instant.now - session.head.made
        let again = try SessionRecord(session, by: hash).session(named: "a", hash: hash, isHead: true)
        #expect(again.head.revision == session.head.revision)
    }
}
