import SnapshotKit
import Testing

@testable import DiffClock
@testable import DiffSessions

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

    /// A changed record, with the checksum of its new bytes.
    private func resummed(_ replacing: (String) -> String) throws -> SessionRecord {
        var changed = try record { replacing($0.replacing(/,"sum":"[0-9a-f]{16}"}$/, with: "}")) }
        changed.meta = SessionRecord.summed(changed.meta, by: hash)
        return changed
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
            #expect(String(decoding: record.meta, as: UTF8.self).hasPrefix(#"{"format":7,"#))
            #expect(try record.session(named: "a", hash: hash, isHead: true).settings == settings)
        }
        #expect(throws: SessionRecord.Failure.damaged) {
            try resummed { $0.replacing("\"replays\":", with: "\"shape\":{\"idAt\":1},\"replays\":") }.session(
                named: "a", hash: hash, isHead: true)
        }
    }

    @Test func `whether what is expanded is kept is read again`() throws {
        var settings = Session.Settings(timeToLive: .seconds(60), ignored: [])
        settings.keepsExpanded = true
        let session = SessionTransition(name: "a", bounds: .init(), hash: hash, now: .now)
            .firstSession(try Snapshot(json: "[1]"), settings: settings, after: nil, maker: nil)
        let record = SessionRecord(session, by: hash)
        #expect(String(decoding: record.meta, as: UTF8.self).hasPrefix(#"{"format":7,"#))
        #expect(try record.session(named: "a", hash: hash, isHead: true).settings == settings)
    }

    @Test func `whether anybody may read it is read again, and nobody may if the record does not say so`() throws {
        for isPublic in [true, false] {
            var settings = Session.Settings(timeToLive: .seconds(60), ignored: [])
            settings.isPublic = isPublic
            let session = SessionTransition(name: "a", bounds: .init(), hash: hash, now: .now)
                .firstSession(try Snapshot(json: "[1]"), settings: settings, after: nil, maker: nil)
            let record = SessionRecord(session, by: hash)
            #expect(String(decoding: record.meta, as: UTF8.self).contains("\"public\"") == isPublic)
            #expect(try record.session(named: "a", hash: hash, isHead: true).settings == settings)
        }
    }

    @Test func `of how many answers a shape was guessed is read again`() throws {
        var settings = Session.Settings(timeToLive: .seconds(60), ignored: [], shape: .pointers(idAt: .root))
        settings.guessedAnswers = 2
        settings.emptyPlaces = [JSONPointer("/a~1b/rows")!, JSONPointer("/next")!]
        let session = SessionTransition(name: "a", bounds: .init(), hash: hash, now: .now)
            .firstSession(try Snapshot(json: "[1]"), settings: settings, after: nil, maker: nil)
        let record = SessionRecord(session, by: hash)
        #expect(try record.session(named: "a", hash: hash, isHead: true).settings == settings)
    }

    @Test func `a record whose head is not that of its revision is damaged`() throws {
        #expect(throws: SessionRecord.Failure.damaged) { try record().session(named: "b", hash: hash, isHead: true) }
        var other = try record()
        other.head = Array("[{\"id\":1,\"content\":\"y\"},2]".utf8)
        #expect(throws: SessionRecord.Failure.damaged) { try other.session(named: "a", hash: hash, isHead: true) }
    }

    @Test(arguments: [1, 6, 8])
    func `a record of another format is told from damage`(_ format: Int) throws {
        #expect(throws: SessionRecord.Failure.format(format)) {
            try resummed { $0.replacing("\"format\":7", with: "\"format\":\(format)") }.session(
                named: "a", hash: hash, isHead: true)
        }
    }

    @Test func `a record of the format before is read once it is upgraded`() throws {
        let old = try resummed { $0.replacing("\"format\":7", with: "\"format\":6") }
        let upgraded = old.upgraded(by: hash)
        #expect(String(decoding: upgraded.meta, as: UTF8.self).hasPrefix(#"{"format":7,"#))
        let found = try upgraded.session(named: "a", hash: hash, isHead: true)
        #expect(try found.head.revision == record().session(named: "a", hash: hash, isHead: true).head.revision)
        #expect(found.settings.isSaltedByEpoch)
        // It is idempotent, and touches nothing else.
        #expect(upgraded.upgraded(by: hash) == upgraded)
        for other in [try resummed { $0.replacing("\"format\":7", with: "\"format\":5") }, try record()] {
            #expect(other.upgraded(by: hash) == other)
        }
        var damaged = old
        damaged.meta[20] ^= 1
        #expect(damaged.upgraded(by: hash) == damaged)
    }

    @Test func `the digest of a time when other places were ignored stays until the state changes`() throws {
        let writing = SessionTransition(name: "a", bounds: .init(), hash: hash, now: .now)
        let first = writing.firstSession(
            try Snapshot(json: "[1]"), settings: .init(timeToLive: .seconds(60), ignored: []), after: nil, maker: nil)
        var settings = first.settings
        settings.ignored = [JSONPointer("/n")!]
        let settled = writing.session(first, settled: settings)
        let found = try SessionRecord(settled, by: hash).session(named: "a", hash: hash, isHead: true)
        #expect(found.head.revision == first.head.revision && found.head.hasOldDigest)
        let next = writing.session(after: found, try Snapshot(json: "[1,2]"), maker: nil).0
        #expect(!next.head.hasOldDigest)
    }

    @Test func `a record without a sum, or with one that does not fit, is damaged`() throws {
        #expect(throws: SessionRecord.Failure.damaged) {
            try record { $0.replacing(/,"sum":"[0-9a-f]{16}"}$/, with: "}") }.session(
                named: "a", hash: hash, isHead: true)
        }
        let whole = try record()
        for index in whole.meta.indices {
            var other = whole
            other.meta[index] ^= 1
            #expect(throws: SessionRecord.Failure.self) { try other.session(named: "a", hash: hash, isHead: true) }
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
            try resummed { text in
                #expect(text.contains(right))
                return text.replacing(right, with: wrong)
            }.session(named: "a", hash: hash, isHead: true)
        }
    }

    @Test(arguments: [Int.min, -1, 0, .max]) func `any moment can be compared with now`(_ milliseconds: Int) throws {
        let session = try resummed {
            $0.replacing(/"made":[0-9]+/, with: #""made":\#(milliseconds)"#)
        }.session(named: "a", hash: hash, isHead: true)
        _ = session.resumePoint(Revision("0-0123456789abcdef")!, at: .now, bounds: .init())
        _ = Instant.now - session.head.made
        let again = try SessionRecord(session, by: hash).session(named: "a", hash: hash, isHead: true)
        #expect(again.head.revision == session.head.revision)
    }
}
