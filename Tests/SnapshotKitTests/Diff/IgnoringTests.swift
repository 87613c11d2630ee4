import SnapshotKit
import Testing

/// Two contents, ignored places, and whether the rest is the same.
struct IgnoringCase: Sendable, CustomTestStringConvertible {
    let ignored: [String]
    let old: String
    let new: String
    let areSame: Bool

    init(_ ignored: [String], _ old: String, _ new: String, same: Bool) {
        (self.ignored, self.old, self.new, areSame) = (ignored, old, new, same)
    }

    var testDescription: String { "\(old.debugDescription) to \(new.debugDescription) without \(ignored)" }

    static let table: [IgnoringCase] = [
        .init(["/at"], #"{"at":1,"x":1}"#, #"{"at":2,"x":1}"#, same: true),
        .init(["/at"], #"{"at":1,"x":1}"#, #"{"at":2,"x":2}"#, same: false),
        .init(["/at"], #"{"at":1,"x":1}"#, #"{"x":1}"#, same: true),
        .init(["/at"], #"{"x":1}"#, #"{"at":[{}],"x":1}"#, same: true),
        .init(["/at"], #"{"x":{"at":1}}"#, #"{"x":{"at":2}}"#, same: false),
        .init(["/at"], #"{"at":1}"#, #"{"\u0061t":2}"#, same: true),
        .init(["/at"], #"{"at":1}"#, "{}", same: true),
        .init(["/at"], #"{"at":1}"#, "[]", same: false),
        .init(["/at"], "1", "2", same: false),
        .init(["/x/at"], #"{"x":{"at":1,"y":1}}"#, #"{"x":{"y":1,"at":2}}"#, same: true),
        .init(["/x/at"], #"{"x":{"at":1,"y":1}}"#, #"{"x":{"y":2,"at":1}}"#, same: false),
        .init(["/x/at"], #"{"x":{"at":1},"at":1}"#, #"{"x":{"at":1},"at":2}"#, same: false),
        .init(["/x/at"], #"{"x":1}"#, #"{"x":{"at":1}}"#, same: false),
        .init(["/a/x", "/b/x"], #"{"a":{"x":1},"b":{"x":1}}"#, #"{"b":{"x":3},"a":{"x":2}}"#, same: true),
        .init(["/a", "/b"], #"{"a":1,"b":1,"c":1}"#, #"{"c":1}"#, same: true),
        .init(["/a", "/a/b"], #"{"a":1}"#, #"{"a":{"b":2}}"#, same: true),
        .init(["/l/1"], #"{"l":[1,2,3]}"#, #"{"l":[1,9,3]}"#, same: true),
        .init(["/l/1"], #"{"l":[1,2,3]}"#, #"{"l":[9,2,3]}"#, same: false),
        .init(["/l/1/at"], #"{"l":[{"at":1},{"at":1}]}"#, #"{"l":[{"at":1},{"at":2}]}"#, same: true),
        .init(["/l/1/at"], #"{"l":[{"at":1},{"at":1}]}"#, #"{"l":[{"at":2},{"at":1}]}"#, same: false),
        .init(["/l/1"], #"{"l":[1,2]}"#, #"{"l":[1]}"#, same: true),
        .init(["/l/1"], #"{"l":[1]}"#, #"{"l":[2]}"#, same: false),
        .init(["/x/at"], #"{"x":{"at":1}}"#, #"{"x":{}}"#, same: true),
        .init(["/x/at"], #"{"x":{}}"#, "{}", same: false),
        .init(["/1"], #"{"1":1}"#, #"{"1":2}"#, same: true),
        .init(["/a~1b"], #"{"a/b":1}"#, #"{"a/b":2}"#, same: true),
        .init(["/m~0n"], #"{"m~n":1}"#, #"{"m~n":2}"#, same: true),
        .init(["/"], #"{"":1}"#, #"{"":2}"#, same: true),
        .init(["/\u{E9}"], "{\"\u{E9}\":1}", "{\"\u{E9}\":2}", same: true),
        .init(["/\u{E9}"], "{\"e\u{301}\":1}", "{\"e\u{301}\":2}", same: false),
        .init([], #"{"at":1}"#, #"{"at":2}"#, same: false),
    ]
}

@Suite("Places that equality leaves out")
struct IgnoringTests {
    private func snapshot(_ content: String, isSection: Bool = false) throws -> Snapshot {
        try Snapshot(
            json: isSection
                ? #"{"sections":[{"id":"s","content":\#(content),"items":[]}]}"#
                : #"[{"id":"a","content":\#(content)}]"#)
    }

    @Test("a change there is none, any other is one", arguments: IgnoringCase.table)
    func contents(row: IgnoringCase) throws {
        let ignored = row.ignored.compactMap { JSONPointer($0) }
        let hash = KeyedHash(key: Array("key".utf8))
        for (one, other) in [(row.old, row.new), (row.new, row.old)] {
            let (old, new) = (try snapshot(one), try snapshot(other))
            let changeset = Changeset(from: old, to: new, ignoring: ignored)
            #expect(Counts(changeset.counts) == Counts(updates: row.areSame ? 0 : 1))
            #expect((changeset.json(.jsonPatch) == Array("[]".utf8)) == row.areSame)
            let prints = [old, new].map { Fingerprints(of: $0, by: hash, ignoring: ignored) }
            let digests = [prints[0].digest(salt: ""), prints[1].digest(salt: "")]
            #expect((digests[0] == digests[1]) == row.areSame)
        }
    }

    @Test("an item that also changed elsewhere is sent as it is now, and one that did not is left alone")
    func wholeContents() throws {
        let old = try Snapshot(json: #"[{"id":"a","content":{"at":1,"x":1}},{"id":"b","content":{"at":1,"x":1}}]"#)
        let new = try Snapshot(json: #"[{"id":"a","content":{"at":2,"x":2}},{"id":"b","content":{"at":2,"x":1}}]"#)
        let changeset = Changeset(from: old, to: new, ignoring: [JSONPointer("/at")].compactMap { $0 })
        let update = #"[{"op":"update","items":[{"id":"a","content":{"at":2,"x":2}}],"as":"reconfigure"}]"#
        #expect(String(decoding: changeset.json(.keyed), as: UTF8.self) == update)
        let patch = try TreeParser.tree(changeset.json(.jsonPatch))
        let document = try PatchApplier.apply(patch, to: try TreeParser.tree(old.documentJSON())).document
        let expected = #"[{"id":"a","content":{"at":2,"x":2}},{"id":"b","content":{"at":1,"x":1}}]"#
        #expect(document == (try TreeParser.tree(try Snapshot(json: expected).documentJSON())))
    }

    /// Ignored places, two contents, and the patch between them; nil if the whole content is sent.
    static let patches: [(ignored: [String], old: String, new: String, patch: String?)] = [
        // What is there, and what is not.
        (["/ts"], #"{"t":1,"ts":5}"#, #"{"t":2,"ts":6}"#, #"{"t":2,"ts":6}"#),
        (["/ts"], #"{"t":1,"ts":5}"#, #"{"t":2,"ts":5}"#, #"{"t":2,"ts":5}"#),
        (["/ts"], #"{"t":1}"#, #"{"t":2,"ts":[null]}"#, #"{"t":2,"ts":[null]}"#),
        (["/ts"], #"{"t":1,"ts":{"n":1}}"#, #"{"t":2}"#, #"{"t":2,"ts":null}"#),
        (["/ts"], #"{"t":1}"#, #"{"t":2}"#, #"{"t":2,"ts":null}"#),
        (["/b", "/a"], #"{"t":1}"#, #"{"t":2,"a":"x"}"#, #"{"t":2,"a":"x","b":null}"#),
        // Both of two pointers, one below the other.
        (["/m", "/m/n"], #"{"t":1,"m":{"n":2}}"#, #"{"t":2,"m":3}"#, #"{"t":2,"m":3}"#),
        // What a patch cannot say.
        (["/ts"], #"{"t":1,"ts":5}"#, #"{"t":2,"ts":{}}"#, nil),
        (["/ts"], #"{"t":1,"ts":5}"#, #"{"t":2,"ts":null}"#, nil),
        (["/l/0"], #"{"t":1,"l":[1]}"#, #"{"t":2,"l":[1]}"#, nil),
        (["/l/1"], #"{"t":1,"l":[1]}"#, #"{"t":2,"l":[1]}"#, nil),
        (["/l/0/n"], #"{"t":1,"l":[{}]}"#, #"{"t":2,"l":[{}]}"#, nil),
        (["/l/x", "/l/0/n"], #"{"t":1,"l":[1]}"#, #"{"t":2,"l":[1]}"#, #"{"t":2}"#),
        // Inside of what is compared.
        (["/m/ts"], #"{"t":1,"m":{"ts":5,"k":1}}"#, #"{"t":2,"m":{"ts":6,"k":1}}"#, #"{"t":2,"m":{"ts":6}}"#),
        (["/m/ts"], #"{"t":1,"m":{"k":1}}"#, #"{"t":2,"m":{"k":1}}"#, #"{"t":2,"m":{"ts":null}}"#),
        (["/m/ts"], #"{"t":1}"#, #"{"t":2}"#, #"{"t":2}"#),
        (["/m/ts"], #"{"t":1,"m":3}"#, #"{"t":2,"m":3}"#, #"{"t":2}"#),
        (["/m/ts"], #"{"t":1,"m":{"ts":5}}"#, #"{"t":1}"#, #"{"m":null}"#),
        (["/m/ts"], #"{"t":1,"m":{"ts":5}}"#, #"{"t":1,"m":7}"#, #"{"m":7}"#),
        (["/m/ts"], #"{"t":1}"#, #"{"t":1,"m":{}}"#, #"{"m":{"ts":null}}"#),
        (["/m/n/ts"], #"{"t":1,"m":3}"#, #"{"t":1,"m":{"n":{"ts":1},"k":{}}}"#, #"{"m":{"n":{"ts":1},"k":{}}}"#),
        (["/m/ts"], #"{"t":1,"m":3}"#, #"{"t":1,"m":{"k":null}}"#, nil),
        ([""], #"{"t":1}"#, #"{"t":2}"#, #"{"t":2}"#),
        (["/x\"y/é"], #"{"t":1,"x\"y":{}}"#, #"{"t":2,"x\"y":{}}"#, #"{"t":2,"x\"y":{"é":null}}"#),
    ]

    @Test("a patch sets each of them, so that what its reader has there does not matter", arguments: patches.indices)
    func patch(index: Int) throws {
        let (texts, old, new, patch) = Self.patches[index]
        let ignored = texts.compactMap { JSONPointer($0) }
        let long = { (text: String) in "\(text.dropLast()),\"x\":\"\(String(repeating: "x", count: 60))\"}" }
        let (first, next) = (try snapshot(long(old)), try snapshot(long(new)))
        let changeset = Changeset(from: first, to: next, ignoring: ignored)
        let update = String(decoding: changeset.json(.keyed, content: .patch), as: UTF8.self)
        #expect(update.contains(patch.map { "\"patch\":\($0)" } ?? "\"content\":\(long(new))"), "\(update)")
        // Whoever may have anything is sent all of it.
        let unsure = Changeset(from: first, to: next, ignoring: ignored, patchesItems: false)
        #expect(
            String(decoding: unsure.json(.keyed, content: .patch), as: UTF8.self).contains("\"content\":\(long(new))"))
        let replaces = String(decoding: unsure.json(.jsonPatch), as: UTF8.self)
        #expect(replaces.contains(#""path":"/sections/0/items/0/content","value":"#))
    }

    @Test("the pointers lead into items' contents, not into sections'")
    func sections() throws {
        let (old, new) = (try snapshot(#"{"at":1}"#, isSection: true), try snapshot(#"{"at":2}"#, isSection: true))
        let changeset = Changeset(from: old, to: new, ignoring: [JSONPointer("/at")].compactMap { $0 })
        #expect(Counts(changeset.counts) == Counts(updates: 1))
    }
}
