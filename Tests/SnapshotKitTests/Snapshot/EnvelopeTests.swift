import SnapshotKit
import Testing

@Suite("Envelopes")
struct EnvelopeTests {
    static let diff = Envelope.Members(states: ["old", "new"], required: ["old", "new"])
    static let post = Envelope.Members(
        states: ["state"], values: ["edits", "ttl"], exactlyOne: ["state", "edits"], allowsBareState: true)

    private func read(
        _ json: String, _ members: Envelope.Members, shape: StateShape = .native
    ) -> (envelope: Envelope?, reading: Reading?) {
        do throws(StateError) {
            return (try Envelope(json: Array(json.utf8), members: members, shape: shape), nil)
        } catch {
            return (nil, Reading(error))
        }
    }

    private func json(_ state: Snapshot?) -> String? {
        state.flatMap { try? TreeParser.tree($0.documentJSON()).json }
    }

    private func main(_ items: String) -> String {
        Tree.json(#"{"sections":[{"id":"main","items":[\#(items)]}]}"#).json
    }

    /// The bytes after a state's first one are not JSON, so reading on would show.
    @Test(
        "where no state is taken, none is read",
        arguments: [
            "[x", " [", #"{"state":x"#, #"{"items":x"#, #"{"sections":x"#, #"{"ttl":1,"state":x"#,
            #"{"edits":[],"state":x"#,
        ])
    func unwanted(json: String) {
        var members = Self.post
        members.refusesStates = true
        #expect(read(json, members).reading == .unwanted)
        #expect(read(json, Self.post).reading != .unwanted)
        #expect(read(#"{"edits":[],"ttl":1}"#, members).envelope?.values.count == 2)
        #expect(read(#"{"edits":[],"ttl":x"#, members).reading == .notJSON(.unexpectedByte))
    }

    @Test("two states in one document")
    func twoStates() throws {
        let envelope = try #require(read(#"{"new":["b","\u0063"],"old":{"items":["a"]}}"#, Self.diff).envelope)
        #expect(json(envelope.states["old"]) == main(#"{"id":"a"}"#))
        #expect(json(envelope.states["new"]) == main(#"{"id":"b"},{"id":"c"}"#))
        #expect(envelope.states.count == 2)
    }

    @Test("states with escaped ids do not get in each other's way")
    func escapedIDs() throws {
        let envelope = try #require(
            read(#"{"old":["\u0061","\u0062","x"],"new":["\u0062","\u00e9\u0061","\u0061"]}"#, Self.diff).envelope)
        let (old, new) = (try #require(envelope.states["old"]), try #require(envelope.states["new"]))
        #expect(json(old) == main(#"{"id":"a"},{"id":"b"},{"id":"x"}"#))
        #expect(json(new) == main(#"{"id":"b"},{"id":"éa"},{"id":"a"}"#))
        #expect(Counts(Changeset(from: old, to: new).counts) == Counts(deletions: 1, insertions: 1, moves: 1))
    }

    @Test("a state beside other values")
    func values() throws {
        let envelope = try #require(read(#"{"ttl": 60 ,"state":[]}"#, Self.post).envelope)
        #expect(envelope.values["ttl"]?.integer == 60)
        #expect(envelope.values["ttl"].map { String(decoding: $0.text, as: UTF8.self) } == "60")
        #expect(json(envelope.states["state"]) == main(""))
    }

    @Test("a bare state", arguments: [#"["a"]"#, #"{"items":["a"]}"#, #"{"sections":[{"id":"main","items":["a"]}]}"#])
    func bare(text: String) throws {
        let envelope = try #require(read(text, Self.post).envelope)
        #expect(json(envelope.states["state"]) == main(#"{"id":"a"}"#))
    }

    @Test("edits in place of a state")
    func edits() throws {
        let envelope = try #require(read(#"{"edits":[{"op":"clear"}]}"#, Self.post).envelope)
        #expect(envelope.states.count == 0)
        #expect(envelope.values["edits"].map { String(decoding: $0.text, as: UTF8.self) } == #"[{"op":"clear"}]"#)
    }

    @Test(
        "of state, edits and a bare state there is one, and only one",
        arguments: [
            "{}", #"{"ttl":1}"#, #"{"state":[],"edits":[]}"#, #"{"state":[],"items":[]}"#,
            #"{"edits":[],"sections":[]}"#,
            #"{"items":[],"sections":[]}"#, "1", "null", "\"a\"",
        ])
    func oneOfThem(text: String) {
        let members = read(text, Self.post)
        guard case .violations = members.reading else {
            Issue.record("accepted, or not for its shape")
            return
        }
    }

    @Test("what the envelope lacks, or has too much, is told")
    func shape() {
        #expect(read(#"{"old":[]}"#, Self.diff).reading == .violations(["missing-member "]))
        #expect(read(#"{"old":[],"new":[],"x":1}"#, Self.diff).reading == .violations(["unknown-member /x"]))
        #expect(read(#"{"old":[],"new":[],"a/b":1}"#, Self.diff).reading == .violations(["unknown-member /a~1b"]))
        #expect(read(#"{"old":[],"new":[],"old":[]}"#, Self.diff).reading == .notJSON(.duplicateMember))
        #expect(read(#"{"old":[],"new":[],"\u006fld":[]}"#, Self.diff).reading == .notJSON(.duplicateMember))
        #expect(read("[]", Self.diff).reading != nil)
    }

    @Test("violations point into the document, not into the state")
    func pointers() {
        #expect(
            read(#"{"old":["a"],"new":[{"id":"b","x":1}]}"#, Self.diff).reading
                == .violations(["unknown-member /new/0/x"]))
        #expect(
            read(#"{"old":{"items":[""]},"new":{"sections":[{"items":[]}]}}"#, Self.diff).reading
                == .violations(["invalid-id /old/items/0", "missing-id /new/sections/0"]))
        #expect(read(#"{"old":[],"new":{}}"#, Self.diff).reading == .violations(["missing-sections /new"]))
        #expect(
            read(#"{"state":["a","a"]}"#, Self.post).reading
                == .violations(["duplicate-id /state/0", "duplicate-id /state/1"]))
        #expect(
            read(#"{"items":["a","a"]}"#, Self.post).reading
                == .violations(["duplicate-id /items/0", "duplicate-id /items/1"]))
    }

    @Test("pointers apply to each state")
    func pointerShapes() throws {
        let shape = StateShape.pointers(itemsAt: JSONPointer("/l"), idAt: JSONPointer("/k"))
        let text = #"{"old":{"l":[{"k":1}]},"new":{"l":[{"k":1,"v":2}]}}"#
        let envelope = try #require(read(text, Self.diff, shape: shape).envelope)
        #expect(json(envelope.states["old"]) == main(#"{"id":1,"content":{"k":1}}"#))
        #expect(json(envelope.states["new"]) == main(#"{"id":1,"content":{"k":1,"v":2}}"#))
        let broken = #"{"old":{"l":[{"k":1}]},"new":{"l":[{"j":1}]}}"#
        #expect(read(broken, Self.diff, shape: shape).reading == .violations(["missing-id /new/l/0"]))
    }

    @Test("depth counts the envelope")
    func depth() {
        let text = { (depth: Int) in
            let value = String(repeating: "[", count: depth - 3) + String(repeating: "]", count: depth - 3)
            return #"{"state":[{"id":"a","content":\#(value)}]}"#
        }
        #expect(read(text(64), Self.post).envelope != nil)
        #expect(read(text(65), Self.post).reading == .notJSON(.tooDeep))
    }
}
