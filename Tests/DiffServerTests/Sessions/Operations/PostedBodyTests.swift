import SnapshotKit
import Testing

@testable import diffserver

struct PostedBodyTests {
    private static let defaults = Session.Settings(timeToLive: .seconds(60), ignored: [])
    private static let shape = StateShape.pointers(itemsAt: JSONPointer("/l"), idAt: JSONPointer("/k"))

    private func body(_ text: String, asked: StateShape? = nil, takesStates: Bool = true) -> PostedBody {
        PostedBody(
            StateDocument(Array(text.utf8)),
            .init(
                shape: asked, takesStates: takesStates, limits: StateLimits(), defaults: Self.defaults))
    }

    /// What a body says, in words.
    private func words(_ body: PostedBody, _ kept: StateShape?) -> String {
        do throws(SessionError) {
            switch try body.content(kept, upon: nil).value {
            case .state(let reading, let settings):
                let ids = (0..<reading.snapshot.itemCount).map { "\($0)" }.count
                return "\(ids) items"
                    + (settings == Self.defaults ? "" : ", \(settings.timeToLive.components.seconds) s")
                    + (settings.shape == nil ? "" : ", shaped")
            case .edits(let batch, _, let text): return "\(batch.count) edits of \(text.count)"
            }
        } catch {
            switch error {
            case .unreadable(.unwanted): return "unwanted"
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
        // All else is a document, whatever its members are.
        (#"{"edits":1,"l":[{"k":1}]}"#, true, nil, "1 items"), (#"{"state":1,"edits":1,"l":[]}"#, true, nil, "0 items"),
        (#"{"state":1,"ttl":1,"l":[]}"#, true, nil, "0 items"), (#"{"ttl":1}"#, true, nil, "not-found /l"),
        (#"["a"]"#, true, nil, "not-found /l"), ("{", true, nil, "no JSON"), (#"{"edits":}"#, true, nil, "no JSON"),
        // What the request says, for itself.
        (#"["a"]"#, true, .native, "1 items"), (#"{"state":["a"]}"#, true, .native, "1 items"),
        (#"[{"n":1}]"#, true, .pointers(idAt: JSONPointer("/n")), "1 items"),
        (#"{"state":[{"n":1}]}"#, true, .pointers(idAt: JSONPointer("/n")), "1 items"),
        (#"{"edits":[]}"#, true, .pointers(idAt: JSONPointer("/n")), "0 edits of 12"),
        (#"{"edits":[{"n":1}]}"#, false, .pointers(itemsAt: JSONPointer("/edits"), idAt: JSONPointer("/n")), "1 items"),
        // A shape beside a state, on either side of it.
        (#"{"state":[{"n":1}],"shape":{"idAt":"/n"}}"#, false, nil, "1 items, 60 s, shaped"),
        (#"{"shape":{"idAt":"/n"},"state":[{"n":1}]}"#, false, nil, "1 items, 60 s, shaped"),
        (#"{"state":[{"n":1}],"shape":{"idAt":"/n"}}"#, true, nil, "1 items, 60 s, shaped"),
        (#"{"state":["a"],"shape":{"idAt":"/n"}}"#, false, .native, "1 items, 60 s, shaped"),
        (#"{"state":[],"shape":{}}"#, false, nil, "wrong-type /shape"),
        (#"{"items":[],"shape":{"idAt":"/n"}}"#, false, nil, "wrong-type /shape"),
        (#"{"edits":[],"ttl":5}"#, false, nil, "wrong-type /ttl"),
    ]

    @Test(arguments: rows.indices)
    func `what a body says depends on what is kept and what is asked for`(_ index: Int) {
        let row = Self.rows[index]
        #expect(words(body(row.body, asked: row.asked), row.kept ? Self.shape : nil) == row.expected, "\(row.body)")
    }

    @Test func `a body that was read by one shape is read by another as if it had not been`() {
        // Ids with escapes stand behind the document.
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
        #expect(words(body(#"{"edits":[]}"#, asked: Self.shape, takesStates: false), nil) == "unwanted")
    }
}
