import SnapshotKit
import Testing

/// A change of content, and the merge patch that carries it; nil if the whole content must.
struct ContentPatchCase: Sendable, CustomTestStringConvertible {
    let old: String?
    let new: String?
    let patch: String?

    var testDescription: String { "\((old ?? "absent").debugDescription) to \((new ?? "absent").debugDescription)" }
}

@Suite("Merge patches of contents")
struct ContentPatchTests {
    static let table: [ContentPatchCase] = [
        .init(old: #"{"title":"a","count":1}"#, new: #"{"title":"a","count":2}"#, patch: #"{"count":2}"#),
        .init(old: #"{"title":"a","count":1}"#, new: #"{"title":"a long one"}"#, patch: nil),
        .init(old: #"{"title":"a long one","c":1}"#, new: #"{"title":"a long one"}"#, patch: #"{"c":null}"#),
        .init(old: #"{"title":"a"}"#, new: #"{"title":"a","new":[1]}"#, patch: #"{"new":[1]}"#),
        .init(
            old: #"{"p":{"x":1,"y":2},"t":"text"}"#, new: #"{"p":{"x":1,"y":3},"t":"text"}"#, patch: #"{"p":{"y":3}}"#),
        .init(old: #"{"t":"some text","l":[1,2]}"#, new: #"{"t":"some text","l":[1,3]}"#, patch: #"{"l":[1,3]}"#),
        .init(old: #"{"t":"some text","n":1.0}"#, new: #"{"t":"some text","n":1}"#, patch: #"{"n":1}"#),
        // A required null cannot be written in a merge patch.
        .init(old: #"{"t":"some text","n":1}"#, new: #"{"t":"some text","n":null}"#, patch: nil),
        .init(old: #"{"t":"some text"}"#, new: #"{"t":"some text","n":null}"#, patch: nil),
        .init(old: #"{"t":"some text"}"#, new: #"{"t":"some text","n":{"m":null}}"#, patch: nil),
        // A null that stays needs no mention; nor does one inside an array.
        .init(old: #"{"n":null,"t":"text","c":1}"#, new: #"{"n":null,"t":"text","c":2}"#, patch: #"{"c":2}"#),
        .init(old: #"{"t":"some text","l":[]}"#, new: #"{"t":"some text","l":[null]}"#, patch: #"{"l":[null]}"#),
        .init(old: #"{"n":null,"t":"some text"}"#, new: #"{"t":"some text"}"#, patch: #"{"n":null}"#),
        // Values that are not objects on both sides are replaced.
        .init(old: "1", new: "2", patch: nil),
        .init(old: "[1,2,3]", new: "[1,2,4]", patch: nil),
        .init(old: #"{"a":1}"#, new: "[]", patch: nil),
        .init(old: "null", new: #"{"a":1}"#, patch: nil),
        .init(old: nil, new: #"{"a":1}"#, patch: nil),
        .init(old: #"{"a":1}"#, new: nil, patch: nil),
        .init(old: #"{"a":1}"#, new: "{}", patch: nil),
        .init(old: #"{"a":1}"#, new: #"{"a":2}"#, patch: nil),
        .init(old: #"{"a":{"b":1},"c":"text"}"#, new: #"{"a":"x","c":"text"}"#, patch: #"{"a":"x"}"#),
        .init(old: #"{"a":"x","c":"some text"}"#, new: #"{"a":{"b":1},"c":"some text"}"#, patch: #"{"a":{"b":1}}"#),
        .init(old: #"{"a":[1],"c":"some text"}"#, new: #"{"a":{},"c":"some text"}"#, patch: #"{"a":{}}"#),
        .init(old: #"{"é\n":1,"c":"some text"}"#, new: #"{"é\u000a":2,"c":"some text"}"#, patch: #"{"é\n":2}"#),
    ]

    /// Texts that grow, and what an update says of them by `delta`: the patch, and what is appended; both nil if that
    /// is no smaller.
    static let growth: [(old: String, new: String, patch: String?, append: String?)] = [
        (
            #"{"t":"It was","n":1}"#, #"{"t":"It was a dark and stormy night","n":1}"#, nil,
            #"{"/t":" a dark and stormy night"}"#
        ),
        (
            #"{"t":"It was a dark","n":1}"#, #"{"t":"It was a dark and stormy night","n":2}"#, #"{"n":2}"#,
            #"{"/t":" and stormy night"}"#
        ),
        (
            #"{"a":{"b~/\"":"one two three four","c":[]}}"#, #"{"a":{"b~/\"":"one two three four five","c":[]}}"#, nil,
            #"{"/a/b~0~1\"":" five"}"#
        ),
        (
            #"{"t":"caf\u00e9 au","of":1}"#, #"{"t":"café au lait, \ud83d\ude00 and more","of":1}"#, nil,
            #"{"/t":" lait, \ud83d\ude00 and more"}"#
        ),
        (#""a line of its own""#, #""a line of its own, and its end""#, nil, #"{"":", and its end"}"#),
        (
            #"{"one":"the first text","two":"the second text"}"#,
            #"{"one":"the first text.","two":"the second text!"}"#,
            nil, #"{"/one":".","/two":"!"}"#
        ),
        // In the end a patch is as small, or the whole is.
        (#"{"t":"ab","of":"a text that stays"}"#, #"{"t":"abc","of":"a text that stays"}"#, #"{"t":"abc"}"#, nil),
        (#"{"t":"ab"}"#, #"{"t":"abc"}"#, nil, nil), (#""ab""#, #""abc""#, nil, nil),
        // Arrays are sent whole, nothing is appended to nothing, and what has become shorter has not grown.
        (
            #"{"l":["a text in a list, of some length"]}"#, #"{"l":["a text in a list, of some length, grows"]}"#, nil,
            nil
        ),
        (#"{"n":"some other text"}"#, #"{"n":"some other text","t":"it"}"#, #"{"t":"it"}"#, nil),
        (
            #"{"t":"some text and more","n":"a text that stays"}"#, #"{"t":"some text","n":"a text that stays"}"#,
            #"{"t":"some text"}"#, nil
        ),
        (
            #"{"t":"\ud83d\ude00 is a face, isn't it","n":1}"#, #"{"t":"😀 is a face, isn't it?","n":1}"#, nil,
            #"{"/t":"?"}"#
        ),
    ]

    @Test("of a text that has grown an update carries the rest, where that is smaller")
    func growing() throws {
        for row in Self.growth {
            for isSection in [false, true] {
                let (old, new) = (
                    try State(model(row.old, isSection: isSection)), try State(model(row.new, isSection: isSection))
                )
                let failures = PairCheck.failures(from: old, to: new, style: .delta)
                #expect(failures.isEmpty, "\(failures.joined(separator: "\n"))")
                let changeset = Changeset(from: old.snapshot, to: new.snapshot)
                let operation = try TreeParser.tree(changeset.json(.keyed, content: .delta)).elements()[0]
                    .members("op", "section", "items", "as")
                let update = try isSection ? operation.take("section") : operation.list("items")[0]
                let members = try update.members("id", "content", "patch", "append")
                #expect(members["patch"] == row.patch.map { Tree.json($0) }, "\(row)")
                #expect(members["append"] == row.append.map { Tree.json($0) }, "\(row)")
            }
        }
    }

    private func model(_ content: String?, isSection: Bool) -> Model {
        var model = Model.flat("a")
        let tree = content.map { Tree.json($0) }
        if isSection { model.sections[0].content = tree } else { model.sections[0].items[0].content = tree }
        return model
    }

    @Test("an item's update carries a patch where that is lossless and smaller", arguments: table)
    func items(row: ContentPatchCase) throws { try expectUpdate(row, isSection: false) }

    @Test("so does a section's", arguments: table)
    func sections(row: ContentPatchCase) throws { try expectUpdate(row, isSection: true) }

    private func expectUpdate(_ row: ContentPatchCase, isSection: Bool) throws {
        let (old, new) = (
            try State(model(row.old, isSection: isSection)), try State(model(row.new, isSection: isSection))
        )
        let failures = PairCheck.failures(from: old, to: new, style: .patch)
        #expect(failures.isEmpty, "\(failures.joined(separator: "\n"))")
        let changeset = Changeset(from: old.snapshot, to: new.snapshot)
        let operations = try TreeParser.tree(changeset.json(.keyed, content: .patch)).elements()
        try #require(operations.count == 1)
        let operation = try operations[0].members("op", "section", "items", "as")
        let keyed = isSection ? try operation.take("section") : try operation.list("items")[0]
        let diffable = try TreeParser.tree(changeset.json(.diffable, content: .patch)).members(
            "sections", "reload", "reconfigure", "reloadSections", "reconfigureSections", "items", "sectionContents")
        for update in [keyed, try diffable.list(isSection ? "sectionContents" : "items")[0]] {
            let members = try update.members("id", "content", "patch")
            #expect(members["patch"] == row.patch.map { Tree.json($0) })
            #expect(members["content"] == (row.patch == nil ? row.new.map { Tree.json($0) } : nil))
        }
    }

    @Test("an insertion carries its content whole")
    func insertions() throws {
        let new = try State(model(#"{"title":"a","count":1}"#, isSection: false))
        let changes = Changeset(from: .empty, to: new.snapshot)
        for dialect in Dialect.allCases { #expect(changes.json(dialect, content: .patch) == changes.json(dialect)) }
    }
}
