import SnapshotKit
import Testing

@testable import DiffSessions

struct PostedBodyTests {
    private static let defaults = Session.Settings(timeToLive: .seconds(60), ignored: [])
    private static let shape = StateShape.pointers(itemsAt: JSONPointer("/l"), idAt: JSONPointer("/k"))

    /// An empty session that keeps a shape, or none.
    private static func session(_ shape: StateShape?, keepsExpanded: Bool = false) -> Session {
        var settings = defaults
        (settings.shape, settings.keepsExpanded) = (shape, keepsExpanded)
        return SessionTransition(name: "a", bounds: .init(), hash: KeyedHash(seed: 1, 2), now: .now)
            .firstSession(.empty, settings: settings, after: nil, maker: nil)
    }

    private func body(
        _ text: String, asked: StateShape? = nil, takesStates: Bool = true, operations: Set<EditOperation>? = nil
    ) -> PostedBody {
        PostedBody(
            StateDocument(Array(text.utf8)),
            .init(
                shape: asked, takesStates: takesStates, operations: operations, limits: StateLimits(),
                defaults: Self.defaults))
    }

    /// The meaning of a body, in words.
    private func words(_ body: PostedBody, _ kept: StateShape?) -> String {
        do throws(SessionError) {
            switch try body.content(for: Self.session(kept)).value {
            case .state(let reading, let named):
                let settings = named ?? Self.defaults
                let ids = (0..<reading.snapshot.itemCount).map { "\($0)" }.count
                let isOther = settings.timeToLive != Self.defaults.timeToLive || settings.shape != nil
                return "\(ids) items"
                    + (isOther ? ", \(settings.timeToLive.components.seconds) s" : "")
                    + (settings.keepsExpanded ? ", keeping" : "")
                    + (settings.shape == nil ? "" : ", shaped")
            case .edits(let batch, _, let text): return "\(batch.count) edits of \(text.count)"
            case .section: return "a section"
            }
        } catch {
            switch error {
            case .unreadable(.unwanted): return "unwanted"
            case .notPermitted(let operations):
                return "not " + operations.map(\.rawValue).sorted().joined(separator: " ")
            case .unreadable(.json): return "no JSON"
            case .unreadable(.invalid(let violations)), .unreadable(.wrongShape(let violations)),
                .edits(.wrongShape(let violations)):
                return violations.map { "\($0.code) \($0.pointer)" }.joined(separator: ", ")
            default: return "\(error)"
            }
        }
    }

    static let rows: [(body: String, kept: Bool, asked: StateShape?, expected: String)] = [
        (#"["a"]"#, false, nil, "1 items"), (#"{"items":["a"]}"#, false, nil, "1 items"),
        (#"{"state":["a"],"ttl":5}"#, false, nil, "1 items, 5 s"),
        (#"{"edits":[]}"#, false, nil, "0 edits of 12"), (#"{"edits":[]}"#, true, nil, "0 edits of 12"),
        (#"{"l":[{"k":1},{"k":2}]}"#, true, nil, "2 items"), (#"{"state":{"l":[{"k":1}]}}"#, true, nil, "1 items"),
        (#"{"ttl":7,"state":{"l":[{"k":1}]}}"#, true, nil, "1 items, 7 s"),
        // Everything else is a document, whatever its members are.
        (#"{"edits":1,"l":[{"k":1}]}"#, true, nil, "1 items"), (#"{"state":1,"edits":1,"l":[]}"#, true, nil, "0 items"),
        (#"{"state":1,"ttl":1,"l":[]}"#, true, nil, "0 items"), (#"{"ttl":1}"#, true, nil, "not-found /l"),
        (#"["a"]"#, true, nil, "not-found /l"), ("{", true, nil, "no JSON"), (#"{"edits":}"#, true, nil, "no JSON"),
        // The request names a shape, which takes precedence over the kept one.
        (#"["a"]"#, true, .native, "1 items"), (#"{"state":["a"]}"#, true, .native, "1 items"),
        (#"[{"n":1}]"#, true, .pointers(idAt: JSONPointer("/n")), "1 items"),
        (#"{"state":[{"n":1}]}"#, true, .pointers(idAt: JSONPointer("/n")), "1 items"),
        (#"{"edits":[]}"#, true, .pointers(idAt: JSONPointer("/n")), "0 edits of 12"),
        (#"{"edits":[{"n":1}]}"#, false, .pointers(itemsAt: JSONPointer("/edits"), idAt: JSONPointer("/n")), "1 items"),
        // A shape beside a state, before or after it.
        (#"{"state":[{"n":1}],"shape":{"idAt":"/n"}}"#, false, nil, "1 items, 60 s, shaped"),
        (#"{"shape":{"idAt":"/n"},"state":[{"n":1}]}"#, false, nil, "1 items, 60 s, shaped"),
        (#"{"state":[{"n":1}],"shape":{"idAt":"/n"}}"#, true, nil, "1 items, 60 s, shaped"),
        (#"{"state":["a"],"shape":{"idAt":"/n"}}"#, false, .native, "1 items, 60 s, shaped"),
        (#"{"state":[],"shape":{}}"#, false, nil, "wrong-type /shape"),
        (#"{"items":[],"shape":{"idAt":"/n"}}"#, false, nil, "wrong-type /shape"),
        (#"{"edits":[],"ttl":5}"#, false, nil, "wrong-type /ttl"),
        (#"{"state":["a"],"keep":["expanded","expanded"]}"#, false, nil, "1 items, keeping"),
        (#"{"state":["a"],"keep":[]}"#, false, nil, "1 items"),
        (#"{"state":["a"],"keep":["expanded","kind"]}"#, false, nil, "wrong-type /keep"),
        (#"{"state":["a"],"keep":"expanded"}"#, false, nil, "wrong-type /keep"),
        (#"{"edits":[],"keep":["expanded"]}"#, false, nil, "wrong-type /keep"),
    ]

    @Test(arguments: rows.indices)
    func `what a body says depends on what is kept and what is asked for`(_ index: Int) {
        let row = Self.rows[index]
        #expect(words(body(row.body, asked: row.asked), row.kept ? Self.shape : nil) == row.expected, "\(row.body)")
    }

    @Test func `a body that was read by one shape is read by another as if it had not been`() {
        // Ids with escapes are stored behind the document.
        let texts = [
            #"{"l":[{"k":"\u0061","n":1}]}"#, #"{"items":["\u0062"]}"#, #"["a","\u0061"]"#,
            #"{"state":[{"k":"\u0061"}]}"#,
        ]
        let shapes = [
            nil, Self.shape, .pointers(idAt: JSONPointer("/k")), try? StateShape([(.idAt, "/k"), (.idAt, "/n")]),
        ]
        for text in texts {
            for one in shapes {
                for other in shapes {
                    let read = body(text)
                    let first = words(read, one)
                    #expect(words(read, other) == words(body(text), other), "\(text)")
                    #expect(words(read, one) == first)
                }
            }
        }
    }

    @Test func `who may not send states may send edits, and nothing else`() {
        for (text, expected) in [
            (#"{"edits":[]}"#, "0 edits of 12"), (#"["a"]"#, "unwanted"), (#"{"state":[]}"#, "unwanted"),
            (#"{"sections":[]}"#, "unwanted"),
        ] {
            #expect(words(body(text, takesStates: false), nil) == expected)
            #expect(words(body(text, takesStates: false), Self.shape) == expected)
        }
        #expect(words(body(#"{"edits":[]}"#, asked: Self.shape, takesStates: false), nil) == "0 edits of 12")
    }

    @Test(
        arguments: [
            (#"[{"op":"delete","items":["a"]}]"#, [.delete], "1 edits of 41"),
            (#"[{"op":"delete","items":["a"]}]"#, [.move, .insert], "not delete"),
            (
                #"[{"op":"move","items":["a"]},{"op":"clear"},{"op":"expand","items":["a"]}]"#, [.move],
                "not clear expand"
            ),
            ("[]", [], "0 edits of 12"),
            // An operation that does not exist is reported as wrong, not as forbidden.
            (#"[{"op":"sort","items":["a"]}]"#, [.move], "wrong-shape /edits/0/op"),
        ] as [(String, Set<EditOperation>, String)])
    func `edits do what is permitted`(_ edits: String, _ operations: Set<EditOperation>, _ expected: String) {
        let text = #"{"edits":\#(edits)}"#
        for kept in [nil, Self.shape] {
            for asked in kept == nil ? [nil] : [nil, StateShape.native, Self.shape] {
                let body = body(text, asked: asked, takesStates: false, operations: operations)
                #expect(words(body, kept) == expected)
            }
        }
    }

    @Test func `what is kept is that of the head, however often a guess of that was wrong`() throws {
        let made = Self.session(nil, keepsExpanded: true)
        let transition = SessionTransition(name: "a", bounds: .init(), hash: KeyedHash(seed: 1, 2), now: .now)
        let after = { (text: String) in
            transition.session(after: made, try Snapshot(json: text), maker: nil).0
        }
        let heads = [
            made, try after(#"[{"id":1,"expanded":false}]"#), try after(#"[1,{"id":2,"expanded":false}]"#),
        ]
        let read = body(#"[1,2,{"id":3,"expanded":true}]"#)
        for (index, expected) in [(1, #"[{"id":1,"expanded":false},2,3]"#), (2, #"[1,{"id":2,"expanded":false},3]"#)] {
            for other in heads { _ = try read.content(for: other) }
            guard case .state(let state, _) = try read.content(for: heads[index]).value else {
                Issue.record("no state")
                return
            }
            #expect(state.snapshot.documentJSON() == (try Snapshot(json: expected)).documentJSON())
            // A second reading on the same head is cached.
            let content = try read.content(for: heads[index])
            #expect(try read.content(for: heads[index]) === content)
        }
    }
}
