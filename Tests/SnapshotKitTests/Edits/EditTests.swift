import Testing

@testable import SnapshotKit

/// `s[a b(c d) e] t[f] u[]`.
private let state = """
    {"sections":[{"id":"s","items":["a",{"id":"b","items":["c","d"]},"e"]},{"id":"t","items":["f"]},{"id":"u",
    "items":[]}]}
    """

struct EditCase: CustomTestStringConvertible {
    let edits: String
    let expected: String
    let testDescription: String

    init(_ description: String, _ edits: String, _ expected: String) {
        (testDescription, self.edits, self.expected) = (description, edits, expected)
    }
}

@Suite("Edits")
struct EditTests {
    @Test(
        "Each operation does what it says",
        arguments: [
            // insert
            EditCase("insert goes to the end", #"[{"op":"insert","items":["x","y"]}]"#, "s[a b(c d) e] t[f] u[x y]"),
            EditCase(
                "at start is the first section", #"[{"op":"insert","items":["x","y"],"at":"start"}]"#,
                "s[x y a b(c d) e] t[f] u[]"),
            EditCase(
                "at end is the last section",
                #"[{"op":"insert","items":["x"],"at":"end"}]"#, "s[a b(c d) e] t[f] u[x]"),
            EditCase(
                "before keeps order", #"[{"op":"insert","items":["x","y"],"before":"e"}]"#, "s[a b(c d) x y e] t[f] u[]"
            ),
            EditCase(
                "after keeps order", #"[{"op":"insert","items":["x","y"],"after":"a"}]"#, "s[a x y b(c d) e] t[f] u[]"),
            EditCase("after the last", #"[{"op":"insert","items":["x"],"after":"d"}]"#, "s[a b(c d x) e] t[f] u[]"),
            EditCase(
                "into a section", #"[{"op":"insert","items":["x"],"into":{"section":"t"}}]"#, "s[a b(c d) e] t[f x] u[]"
            ),
            EditCase(
                "into a section's start", #"[{"op":"insert","items":["x","y"],"into":{"section":"t"},"at":"start"}]"#,
                "s[a b(c d) e] t[x y f] u[]"),
            EditCase(
                "into an item", #"[{"op":"insert","items":["x"],"into":{"item":"a"}}]"#, "s[a(x) b(c d) e] t[f] u[]"),
            EditCase(
                "into an item's start", #"[{"op":"insert","items":["x"],"into":{"item":"b"},"at":"start"}]"#,
                "s[a b(x c d) e] t[f] u[]"),
            EditCase(
                "into a bare id",
                #"[{"op":"insert","items":["x"],"into":"u"},{"op":"insert","items":["y"],"into":"x","at":"end"}]"#,
                "s[a b(c d) e] t[f] u[x(y)]"),
            EditCase(
                "whole items",
                #"[{"op":"insert","items":[{"id":1,"content":{"n": 1.0},"kind":"k","expanded":false,"#
                    + #""items":["\u0078",{"id":"y","items":[]}]}]}]"#,
                #"s[a b(c d) e] t[f] u[1:k={"n": 1.0}-(x y)]"#),
            EditCase(
                "sections",
                #"[{"op":"insert","sections":[{"id":"v"},{"id":"w","content":7,"expanded":false,"items":["x"]}]}]"#,
                "s[a b(c d) e] t[f] u[] v[] w=7-[x]"),
            EditCase(
                "sections at the start", #"[{"op":"insert","sections":[{"id":"v"},{"id":"w"}],"at":"start"}]"#,
                "v[] w[] s[a b(c d) e] t[f] u[]"),
            EditCase(
                "sections after", #"[{"op":"insert","sections":[{"id":"v"},{"id":"w"}],"after":"s"}]"#,
                "s[a b(c d) e] v[] w[] t[f] u[]"),
            EditCase(
                "nothing", #"[{"op":"insert","items":[]},{"op":"delete","items":[]},{"op":"move","sections":[]}]"#,
                "s[a b(c d) e] t[f] u[]"),
            EditCase("no edits", "[]", "s[a b(c d) e] t[f] u[]"),
            // delete
            EditCase("delete takes children along", #"[{"op":"delete","items":["b","f"]}]"#, "s[a e] t[] u[]"),
            EditCase(
                "delete ignores what is gone", #"[{"op":"delete","items":["b","c","nobody","b"]}]"#, "s[a e] t[f] u[]"),
            EditCase("delete sections", #"[{"op":"delete","sections":["s","x","u"]}]"#, "t[f]"),
            EditCase(
                "delete and insert again",
                #"[{"op":"delete","items":["b"]},{"op":"insert","items":["c","b"],"after":"a"}]"#, "s[a c b e] t[f] u[]"
            ),
            EditCase(
                "insert, delete, insert",
                #"[{"op":"insert","items":["x"]},{"op":"delete","items":["x"]},"#
                    + #"{"op":"insert","items":[{"id":"x","content":2}],"at":"start"}]"#,
                "s[x=2 a b(c d) e] t[f] u[]"),
            // move
            EditCase("move before", #"[{"op":"move","items":["e","a"],"before":"c"}]"#, "s[b(e a c d)] t[f] u[]"),
            EditCase(
                "move takes the subtree along", #"[{"op":"move","items":["b"],"into":{"section":"u"}}]"#,
                "s[a e] t[f] u[b(c d)]"),
            EditCase(
                "move after, with its follower moving too", #"[{"op":"move","items":["e","b"],"after":"a"}]"#,
                "s[a e b(c d)] t[f] u[]"),
            EditCase("move to the end", #"[{"op":"move","items":["a"]}]"#, "s[b(c d) e] t[f] u[a]"),
            EditCase(
                "move to the start", #"[{"op":"move","items":["f","a"],"at":"start"}]"#, "s[f a b(c d) e] t[] u[]"),
            EditCase(
                "move within the parent", #"[{"op":"move","items":["c"],"into":{"item":"b"}}]"#,
                "s[a b(d c) e] t[f] u[]"),
            EditCase(
                "move an item and its child apart", #"[{"op":"move","items":["b","d"],"into":"u"}]"#,
                "s[a e] t[f] u[b(c) d]"),
            EditCase("move where it is", #"[{"op":"move","items":["a"],"before":"b"}]"#, "s[a b(c d) e] t[f] u[]"),
            EditCase("move sections", #"[{"op":"move","sections":["u","s"],"before":"t"}]"#, "u[] s[a b(c d) e] t[f]"),
            EditCase("move sections to the end", #"[{"op":"move","sections":["s"]}]"#, "t[f] u[] s[a b(c d) e]"),
            EditCase(
                "move out of a section that goes",
                #"[{"op":"move","items":["c"],"into":"t"},{"op":"delete","sections":["s"]}]"#, "t[f c] u[]"),
            // anchors
            EditCase(
                "null is the end before, and the start after",
                #"[{"op":"insert","items":["x"],"before":null},{"op":"insert","items":["y"],"after":null},"#
                    + #"{"op":"move","sections":["s"],"before":null},{"op":"move","sections":["u"],"after":null}]"#,
                "u[x] t[f] s[y a b(c d) e]"),
            EditCase(
                "the first anchor that is there counts",
                #"[{"op":"move","items":["a"],"before":["x","f","c"]},"#
                    + #"{"op":"insert","items":["x"],"after":["y","c"]}]"#,
                "s[b(c x d) e] t[a f] u[]"),
            EditCase(
                "anchors that the edit places are passed over",
                #"[{"op":"move","items":["a","b"],"before":["b","a","e"]},{"op":"move","sections":["t"],"#
                    + #""after":["t","u"]},{"op":"insert","items":["x"],"after":["x","f"]}]"#,
                "s[a b(c d) e] u[] t[f x]"),
            EditCase(
                "null ends a list of anchors",
                #"[{"op":"move","items":["a"],"before":["x",null]},{"op":"move","items":["e"],"after":[null]},"#
                    + #"{"op":"move","sections":["s"],"before":["t",null]}]"#,
                "s[e b(c d)] t[f] u[a]"),
            // update
            EditCase(
                "update replaces what it names",
                #"[{"op":"update","items":[{"id":"b","content":1},{"id":"b","kind":"k"},"#
                    + #"{"id":"f","expanded":false}]}]"#,
                "s[a b:k=1(c d) e] t[f-] u[]"),
            EditCase(
                "update sections",
                #"[{"op":"update","sections":[{"id":"t","content":[1]},{"id":"u","expanded":false}]}]"#,
                "s[a b(c d) e] t=[1][f] u-[]"),
            EditCase(
                "update what the batch inserted",
                #"[{"op":"insert","items":[{"id":"x","content":1,"kind":"k"}]},"#
                    + #"{"op":"update","items":[{"id":"x","content":null}]}]"#,
                "s[a b(c d) e] t[f] u[x:k=null]"),
            EditCase("update nothing", #"[{"op":"update","items":[{"id":"a"}]}]"#, "s[a b(c d) e] t[f] u[]"),
            // expand, collapse, clear
            EditCase(
                "collapse", #"[{"op":"collapse","items":["b"]},{"op":"collapse","sections":["s"]}]"#,
                "s-[a b-(c d) e] t[f] u[]"),
            EditCase(
                "expand what was collapsed", #"[{"op":"collapse","items":["b","a"]},{"op":"expand","items":["b"]}]"#,
                "s[a- b(c d) e] t[f] u[]"),
            EditCase("clear", #"[{"op":"clear"}]"#, "s[] t[] u[]"),
            EditCase("clear sections", #"[{"op":"clear","sections":["s","u"]}]"#, "s[] t[f] u[]"),
            EditCase("clear items", #"[{"op":"clear","items":["b","c","a"]}]"#, "s[a b e] t[f] u[]"),
            EditCase(
                "clear and fill",
                #"[{"op":"clear","items":["b"]},{"op":"insert","items":["d","c"],"into":{"item":"b"}}]"#,
                "s[a b(d c) e] t[f] u[]"),
            // ids
            EditCase(
                "a section and an item may share an id",
                #"[{"op":"insert","items":["s"],"into":{"section":"u"}},{"op":"insert","sections":[{"id":"a"}]}]"#,
                "s[a b(c d) e] t[f] u[s] a[]"),
            EditCase(
                "1 and \"1\" are one id",
                #"[{"op":"insert","items":[1]},{"op":"move","items":["1"],"before":"\u0061"}]"#,
                "s[1 a b(c d) e] t[f] u[]"),
        ])
    func operations(_ edit: EditCase) throws {
        #expect(try result(of: edit.edits, on: state) == edit.expected)
    }

    @Test(
        "What does not fit the state is refused, with its place",
        arguments: [
            EditCase(
                "an id that is there", #"[{"op":"insert","items":["x",{"id":"c"},"f"]}]"#,
                "duplicate-id /edits/0/items/1/id, duplicate-id /edits/0/items/2"),
            EditCase(
                "twice in one edit", #"[{"op":"insert","items":["x",{"id":"y","items":[{"id":"x"}]}]}]"#,
                "duplicate-id /edits/0/items/0, duplicate-id /edits/0/items/1/items/0/id"),
            EditCase(
                "twice in one batch",
                #"[{"op":"insert","items":["x"]},{"op":"move","items":["x"],"into":"s"},"#
                    + #"{"op":"insert","items":["x"]}]"#,
                "duplicate-id /edits/0/items/0, duplicate-id /edits/2/items/0"),
            EditCase(
                "a section's item that is there",
                #"[{"op":"insert","sections":[{"id":"v"},{"id":"w","items":["x",{"id":"e"}]}]}]"#,
                "duplicate-id /edits/0/sections/1/items/1/id"),
            EditCase(
                "a section that is there", #"[{"op":"insert","sections":[{"id":"v"},{"id":"t"},{"id":"v"}]}]"#,
                "duplicate-id /edits/0/sections/1/id, duplicate-id /edits/0/sections/0/id, "
                    + "duplicate-id /edits/0/sections/2/id"
            ),
            EditCase(
                "a move that names an item twice", #"[{"op":"move","items":["a","b","a"]}]"#,
                "duplicate-id /edits/0/items/2"),
            EditCase(
                "unknown items", #"[{"op":"move","items":["a","x","y"]}]"#,
                "unknown-id /edits/0/items/1, unknown-id /edits/0/items/2"),
            EditCase(
                "an unknown item's update", #"[{"op":"update","items":[{"id":"s"}]}]"#, "unknown-id /edits/0/items/0/id"
            ),
            EditCase(
                "an unknown section's update", #"[{"op":"update","sections":[{"id":"a"}]}]"#,
                "unknown-id /edits/0/sections/0/id"),
            EditCase("an unknown reload", #"[{"op":"reload","items":["x"]}]"#, "unknown-id /edits/0/items/0"),
            EditCase(
                "an unknown reconfigure",
                #"[{"op":"reconfigure","sections":["x"]}]"#, "unknown-id /edits/0/sections/0"),
            EditCase("an unknown expand", #"[{"op":"expand","items":["x"]}]"#, "unknown-id /edits/0/items/0"),
            EditCase("an unknown collapse", #"[{"op":"collapse","items":["x"]}]"#, "unknown-id /edits/0/items/0"),
            EditCase("an unknown clear", #"[{"op":"clear","sections":["x"]}]"#, "unknown-id /edits/0/sections/0"),
            EditCase(
                "what an edit before deleted", #"[{"op":"delete","items":["b"]},{"op":"reload","items":["c"]}]"#,
                "unknown-id /edits/1/items/0"),
            EditCase(
                "no such sibling",
                #"[{"op":"insert","items":["x"],"before":"s"}]"#, "anchor-not-found /edits/0/before"),
            EditCase(
                "no such sibling after", #"[{"op":"move","items":["a"],"after":"x"}]"#,
                "anchor-not-found /edits/0/after"),
            EditCase(
                "an item for a section's sibling", #"[{"op":"move","sections":["s"],"after":"a"}]"#,
                "anchor-not-found /edits/0/after"),
            EditCase(
                "before itself", #"[{"op":"move","items":["a"],"before":"a"}]"#, "anchor-in-batch /edits/0/before"),
            EditCase(
                "after one that moves too", #"[{"op":"move","sections":["s","t"],"after":"t"}]"#,
                "anchor-in-batch /edits/0/after"),
            EditCase(
                "before one that arrives too", #"[{"op":"insert","items":["x","y"],"before":"y"}]"#,
                "anchor-in-batch /edits/0/before"),
            EditCase(
                "none of several siblings", #"[{"op":"move","items":["a"],"before":["x","a"]}]"#,
                "anchor-not-found /edits/0/before"),
            EditCase(
                "an anchor below what moves", #"[{"op":"move","items":["b"],"before":["x","d",null]}]"#,
                "cycle /edits/0/items/0"),
            EditCase(
                "no section for an open end",
                #"[{"op":"delete","sections":["s","t","u"]},{"op":"insert","items":["x"],"after":["y",null]}]"#,
                "no-section /edits/1"),
            EditCase(
                "into no section", #"[{"op":"insert","items":["x"],"into":{"section":"a"}}]"#,
                "unknown-id /edits/0/into/section"),
            EditCase(
                "into no item", #"[{"op":"insert","items":["x"],"into":{"item":"s"}}]"#, "unknown-id /edits/0/into/item"
            ),
            EditCase("into nothing", #"[{"op":"insert","items":["x"],"into":"y"}]"#, "unknown-id /edits/0/into"),
            EditCase(
                "into one of two", #"[{"op":"insert","items":["t"]},{"op":"insert","items":["x"],"into":"t"}]"#,
                "ambiguous-id /edits/1/into"),
            EditCase(
                "no section left", #"[{"op":"delete","sections":["s","t","u"]},{"op":"insert","items":["x"]}]"#,
                "no-section /edits/1"),
            EditCase(
                "into itself", #"[{"op":"move","items":["a","b"],"into":{"item":"b"}}]"#, "cycle /edits/0/items/1"),
            EditCase("into its own subtree", #"[{"op":"move","items":["b"],"before":"d"}]"#, "cycle /edits/0/items/0"),
            EditCase(
                "each edit that does not fit is told",
                #"[{"op":"reload","items":["x"]},{"op":"reload","items":["y"]}]"#,
                "unknown-id /edits/0/items/0, unknown-id /edits/1/items/0"),
            EditCase(
                "what is inserted nowhere is there",
                #"[{"op":"insert","items":["x"],"before":"z"},{"op":"reload","items":["x","y"]}]"#,
                "anchor-not-found /edits/0/before, unknown-id /edits/1/items/1"),
            EditCase(
                "what was not moved may be below what is deleted",
                #"[{"op":"move","items":["a"],"into":"z"},{"op":"delete","items":["b"]},"#
                    + #"{"op":"insert","items":["a","e"]}]"#,
                "unknown-id /edits/0/into, duplicate-id /edits/2/items/1"),
            EditCase(
                "what was not moved is not known to be below another",
                #"[{"op":"move","items":["c"],"before":"z"},{"op":"move","items":["b","e"],"into":{"item":"c"}}]"#,
                "anchor-not-found /edits/0/before"),
            EditCase(
                "children of an item that is there are inserted",
                #"[{"op":"insert","items":[{"id":"a","items":["x","f"]}]},{"op":"reload","items":["x"]}]"#,
                "duplicate-id /edits/0/items/0/id, duplicate-id /edits/0/items/0/items/1"),
        ])
    func refusals(_ edit: EditCase) throws {
        #expect(try result(of: edit.edits, on: state) == edit.expected)
    }

    @Test(
        "A batch of the wrong shape is refused without a state",
        arguments: [
            EditCase("no array", "{}", "wrong-shape /edits"),
            EditCase("no object", #"[1]"#, "wrong-shape /edits/0"),
            EditCase("no op", #"[{"items":[]}]"#, "wrong-shape /edits/0"),
            EditCase(
                "an unknown op", #"[{"op":"append","items":[]},{"op":7,"items":[]}]"#,
                "wrong-shape /edits/0/op, wrong-shape /edits/1/op"),
            EditCase("an unknown member", #"[{"op":"insert","items":[],"a/b":1}]"#, "unknown-member /edits/0/a~1b"),
            EditCase("items and sections", #"[{"op":"clear","items":[],"sections":[]}]"#, "wrong-shape /edits/0"),
            EditCase("neither items nor sections", #"[{"op":"delete"}]"#, "wrong-shape /edits/0"),
            EditCase(
                "items that are no array",
                #"[{"op":"delete","items":"a"},{"op":"insert","items":{}},{"op":"update","sections":null}]"#,
                "wrong-shape /edits/0/items, wrong-shape /edits/1/items, wrong-shape /edits/2/sections"),
            EditCase("two places", #"[{"op":"move","items":[],"before":"a","after":"b"}]"#, "wrong-shape /edits/0"),
            EditCase(
                "a place for what has none", #"[{"op":"delete","items":[],"before":"a"},{"op":"clear","at":"end"}]"#,
                "wrong-shape /edits/0/before, wrong-shape /edits/1/at"),
            EditCase(
                "at with before", #"[{"op":"move","items":[],"before":"a","at":"end"}]"#, "wrong-shape /edits/0/at"),
            EditCase("at somewhere", #"[{"op":"move","items":[],"at":"middle"}]"#, "wrong-shape /edits/0/at"),
            EditCase("sections into", #"[{"op":"move","sections":[],"into":"s"}]"#, "wrong-shape /edits/0/into"),
            EditCase(
                "into two", #"[{"op":"move","items":[],"into":{"section":"s","item":"a"}}]"#,
                "wrong-shape /edits/0/into"),
            EditCase("into neither", #"[{"op":"move","items":[],"into":{}}]"#, "wrong-shape /edits/0/into"),
            EditCase(
                "into something else", #"[{"op":"move","items":[],"into":{"row":1}}]"#,
                "unknown-member /edits/0/into/row"),
            EditCase(
                "into no id", #"[{"op":"move","items":[],"into":{"item":[]}},{"op":"move","items":[],"into":true}]"#,
                "wrong-shape /edits/0/into/item, wrong-shape /edits/1/into"),
            EditCase("objects for ids", #"[{"op":"delete","items":["a",{"id":"b"}]}]"#, "wrong-shape /edits/0/items/1"),
            EditCase(
                "ids for objects", #"[{"op":"update","items":["a"]},{"op":"insert","sections":["s"]}]"#,
                "wrong-shape /edits/0/items/0, wrong-shape /edits/1/sections/0"),
            EditCase(
                "ids that are none", #"[{"op":"delete","items":["",1.5]},{"op":"insert","items":[{"id":true},null]}]"#,
                "invalid-id /edits/0/items/0, invalid-id /edits/0/items/1, invalid-id /edits/1/items/0/id, "
                    + "invalid-id /edits/1/items/1"
            ),
            EditCase(
                "an anchor that is no id",
                #"[{"op":"move","items":[],"before":{}},{"op":"move","items":[],"after":""}]"#,
                "wrong-shape /edits/0/before, invalid-id /edits/1/after"),
            EditCase(
                "lists of anchors",
                #"[{"op":"move","items":[],"before":[]},{"op":"move","items":[],"after":[null,"a"]},"#
                    + #"{"op":"move","items":[],"after":["a",true,1.5]}]"#,
                "wrong-shape /edits/0/before, wrong-shape /edits/1/after/0, wrong-shape /edits/2/after/1, "
                    + "invalid-id /edits/2/after/2"),
            EditCase(
                "an update with items", #"[{"op":"update","items":[{"id":"a","items":[]}]}]"#,
                "wrong-shape /edits/0/items/0/items"),
            EditCase(
                "an update without an id", #"[{"op":"update","items":[{"content":1}]}]"#, "wrong-shape /edits/0/items/0"
            ),
            EditCase(
                "an update's members",
                #"[{"op":"update","items":[{"id":"a","title":1,"kind":2,"expanded":3}]},"#
                    + #"{"op":"update","sections":[{"id":"s","kind":"k"}]}]"#,
                "unknown-member /edits/0/items/0/title, wrong-shape /edits/0/items/0/kind, "
                    + "wrong-shape /edits/0/items/0/expanded, unknown-member /edits/1/sections/0/kind"
            ),
            EditCase(
                "an inserted item's members",
                #"[{"op":"delete","items":[]},{"op":"insert","items":["x",{"id":"a","items":[{"title":1}]}]}]"#,
                "unknown-member /edits/1/items/1/items/0/title, wrong-shape /edits/1/items/1/items/0"),
            EditCase(
                "an inserted section's members",
                #"[{"op":"insert","items":["x"]},{"op":"insert","sections":[{"id":"s"},"#
                    + #"{"id":"t","items":[{"id":[]}]},{}]}]"#,
                "invalid-id /edits/1/sections/1/items/0/id, wrong-shape /edits/1/sections/2"),
        ])
    func shapes(_ edit: EditCase) throws {
        #expect(try result(of: edit.edits, on: "[]") == edit.expected)
    }
}

@Suite("Edits that are refused with and without a state")
struct RefusedEditTests {
    private let state = #"[{"id":"a","content":{"t":"x"}},{"id":"b","content":{"n":1},"items":["c"]},"d"]"#

    @Test(
        "All that is wrong is told, in the order of the edits, but for what may only follow",
        arguments: [
            EditCase(
                "an amount of the wrong length behind",
                #"[{"op":"update","items":[{"id":"a","add":{"/t":1}}]},"#
                    + #"{"op":"update","items":[{"id":"b","add":{"/n":1234567890123456789}}]}]"#,
                "not-a-number /edits/0/items/0/add/~1t, limit-exceeded /edits/1/items/0/add/~1n"),
            EditCase(
                "an amount of the wrong length in front",
                #"[{"op":"update","items":[{"id":"a","add":{"/n":1234567890123456789}}]},"#
                    + #"{"op":"update","items":[{"id":"a","add":{"/t":1}}]}]"#,
                "limit-exceeded /edits/0/items/0/add/~1n, not-a-number /edits/1/items/0/add/~1t"),
            EditCase(
                "a member too many, and an item too few",
                #"[{"op":"insert","items":[{"id":"n","bad":1}]},{"op":"move","items":["z"]}]"#,
                "unknown-member /edits/0/items/0/bad, unknown-id /edits/1/items/0"),
            EditCase(
                "both in one edit", #"[{"op":"insert","items":[{"id":"n","bad":1},"d"],"before":"z"}]"#,
                "unknown-member /edits/0/items/0/bad, anchor-not-found /edits/0/before, duplicate-id /edits/0/items/1"),
            EditCase(
                "what another operation would have inserted",
                #"[{"op":"add","items":[{"id":"n"}]},{"op":"reload","items":["n"]},"#
                    + #"{"op":"move","items":["a"],"after":"n"}]"#,
                "wrong-shape /edits/0/op"),
            EditCase(
                "what is below what another operation would have deleted",
                #"[{"op":"remove","items":["b"]},{"op":"insert","items":["c","d"]}]"#,
                "wrong-shape /edits/0/op, duplicate-id /edits/1/items/1"),
            EditCase(
                "what another operation would have emptied", #"[{"op":"wipe"},{"op":"insert","items":["a","c"]}]"#,
                "wrong-shape /edits/0/op"),
            EditCase(
                "beside what another operation would have moved away",
                #"[{"op":"lift","items":["c"],"at":"start"},{"op":"move","items":["b"],"before":"c"}]"#,
                "wrong-shape /edits/0/op"),
            EditCase(
                "beside the first of two, which another operation would have inserted",
                #"[{"op":"add","items":["n"],"at":"start"},{"op":"move","items":["b"],"before":["n","c"]}]"#,
                "wrong-shape /edits/0/op"),
            EditCase(
                "beside the first of two, of which the other would have been inserted",
                #"[{"op":"add","items":["n"],"at":"start"},{"op":"move","items":["b"],"before":["c","n"]}]"#,
                "wrong-shape /edits/0/op, cycle /edits/1/items/0"),
            EditCase(
                "into a section, whose id is also that of an item in doubt",
                #"[{"op":"insert","items":[{"id":"p","items":["main"]}]},{"op":"lift","items":["p"]},"#
                    + #"{"op":"move","items":["a"],"into":{"section":"main"}},"#
                    + #"{"op":"move","items":["a"],"after":"a"}]"#,
                "wrong-shape /edits/1/op, anchor-in-batch /edits/3/after"),
            EditCase(
                "no id, twice", #"[{"op":"insert","items":[{"content":1},{"content":2,"items":["a"]}]}]"#,
                "wrong-shape /edits/0/items/0, wrong-shape /edits/0/items/1, duplicate-id /edits/0/items/1/items/0"),
            EditCase("no array", #"{"op":"clear"}"#, "wrong-shape /edits"),
        ])
    func all(_ edits: EditCase) throws {
        #expect(try violations(of: edits.edits, on: state).joined(separator: ", ") == edits.expected)
    }
}

/// All violations of a batch, as `code pointer`.
func violations(of edits: String, on state: String) throws -> [String] {
    try EditBatch.violations(
        in: JSONText(edits).slice, on: try Snapshot(json: state), limits: StateLimits(), permitted: nil
    ).map { "\($0.code) \($0.pointer)" }
}
