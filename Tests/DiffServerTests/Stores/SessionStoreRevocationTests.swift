import HTTPCore
import SnapshotKit
import Testing

@testable import DiffSQLite
@testable import DiffService
@testable import DiffSessions
@testable import DiffStores

/// What every store promises about revoked tokens.
@Suite struct SessionStoreRevocationTests {
    static func token(_ session: String, made: Int) -> Token {
        Token(sessions: [session], scopes: [.read], expires: WallTime(seconds: 1), made: made)
    }

    @Test(arguments: StoreKind.allCases)
    func `tokens that were revoked stay so, with a session and without`(_ kind: StoreKind) async throws {
        let fixture = try StoreFixture(kind)
        defer { fixture.close() }
        var store = try fixture.store()
        let now = WallTime.milliseconds
        _ = try await store.created("a", try store.first("a", "[]"))
        for (name, moment) in [("a", now), ("none", now + 1), ("a", now - 5), ("old", now - Revocations.life - 1)] {
            try await store.revokeTokens(of: name, upTo: moment, on: .ofTests).value
        }
        store = try fixture.later(than: store)
        // A node that shares the store learns of the revocation when it asks for any session.
        _ = try await store.opened("b")
        let revocations = store.table.revocations
        #expect(revocations.refuse(Self.token("a", made: now)))
        #expect(!revocations.refuse(Self.token("a", made: now + 1)))
        #expect(revocations.refuse(Self.token("none", made: now + 1)))
        #expect(!revocations.refuse(Self.token("none", made: now + 2)))
        #expect(!revocations.refuse(Self.token("b", made: 0)))
    }

    @Test(.enabled(if: RedisServer.isInstalled))
    func `whoever reads or writes behind a revocation knows of it`() async throws {
        let fixture = try StoreFixture(.redis)
        defer { fixture.close() }
        let (here, there) = (try fixture.store(), try fixture.store())
        var session = try here.first("a", "[]")
        let slot = try await here.created("a", session)
        for number in 0..<50 {
            let made = 1_800_000_000_000 + number
            try await there.revokeTokens(of: "s\(number)", upTo: made, on: .ofTests).value
            if number % 2 == 0 {
                _ = try await here.opened("a")
            } else {
                let next = try here.next("a", session, "[\(number)]")
                do {
                    session = try await here.committed(next, to: slot, after: session)
                } catch StoreFailure.conflict {
                    // The revocation is known by now, so a retry either is refused or succeeds.
                    session = try await here.committed(next, to: slot, after: session)
                }
            }
            #expect(here.table.revocations.refuse(Self.token("s\(number)", made: made)))
        }
        #expect(here.table.revocations.count == 50)
    }

    @Test(.enabled(if: RedisServer.isInstalled))
    func `nodes hear of a revocation though they ask for nothing`() async throws {
        let fixture = try StoreFixture(.redis)
        defer { fixture.close() }
        let (here, there) = (try fixture.store(), try fixture.store())
        try await there.revokeTokens(of: "a", upTo: 1_800_000_000_000, on: .ofTests).value
        #expect(await eventually { here.table.revocations.refuse(Self.token("a", made: 1_800_000_000_000)) })
    }

    @Test func `where revocations cannot be read any more, no older token is taken`() async throws {
        let fixture = try StoreFixture(.sqlite)
        defer { fixture.close() }
        let store = try fixture.store()
        let made = WallTime.milliseconds
        try await store.revokeTokens(of: "a", upTo: made, on: .ofTests).value
        store.close()
        let database = try SQLiteDatabase(path: fixture.database)
        try database.execute("DROP TABLE revocation")
        database.close()
        let revocations = try fixture.store().table.revocations
        #expect(revocations.refuse(Self.token("a", made: made)))
        #expect(revocations.refuse(Self.token("b", made: made)))
        #expect(!revocations.refuse(Self.token("b", made: made + 3_600_000)))
    }
}
