import SnapshotKit
import Testing

@testable import DiffClient

@Suite("Lists that clients hold")
struct RowListTests {
    struct Refused: CustomTestStringConvertible {
        let changes: String
        let reason: ApplyError.Reason
        let testDescription: String

        init(_ description: String, _ changes: String, _ reason: ApplyError.Reason) {
            (testDescription, self.changes, self.reason) = (description, changes, reason)
        }
    }

    /// `s[a b] t[c] u[]`; a has content.
    private static let base = RowList(
        sections: [
            .init(id: "s", rows: [.init(id: "a", content: try! JSONText("{}")), .init(id: "b")]),
            .init(id: "t", rows: [.init(id: "c")]), .init(id: "u"),
        ])

    @Test(
        "a stage that UIKit would refuse is refused",
        arguments: [
            Refused(
                "a section that is not there", #"[{"name":"deletes","counts":[2,1,0],"sections":{"deleted":[3]}}]"#,
                .outOfRange),
            Refused(
                "a row that is not there", #"[{"name":"deletes","counts":[2,1,0],"items":{"deleted":[[0,2]]}}]"#,
                .outOfRange),
            Refused(
                "a row of no section", #"[{"name":"deletes","counts":[2,1,0],"items":{"deleted":[[3,0]]}}]"#,
                .outOfRange),
            Refused(
                "a row below zero",
                #"[{"name":"deletes","counts":[2,1,0],"items":{"deleted":[[0,-1]]}}]"#, .outOfRange),
            Refused(
                "an arrival behind the end",
                #"[{"name":"items","counts":[2,1,1],"items":{"inserted":[{"at":[2,1],"item":{"id":"x"}}]}}]"#,
                .outOfRange),
            Refused(
                "an arrival in no section",
                #"[{"name":"items","counts":[2,1,1],"items":{"inserted":[{"at":[3,0],"item":{"id":"x"}}]}}]"#,
                .outOfRange),
            Refused(
                "a move behind the end",
                #"[{"name":"items","counts":[2,1,0],"items":{"moved":[{"from":[0,0],"to":[0,2]}]}}]"#, .outOfRange),
            Refused(
                "a section behind the end",
                #"[{"name":"sections","counts":[2,1,0],"sections":{"moved":[{"from":0,"to":3}]}}]"#, .outOfRange),
            Refused(
                "a row deleted twice", #"[{"name":"deletes","counts":[1,1,0],"items":{"deleted":[[0,0],[0,0]]}}]"#,
                .namedTwice),
            Refused(
                "a row deleted and moved",
                #"[{"name":"items","counts":[1,1,0],"items":{"deleted":[[0,0]],"moved":[{"from":[0,0],"to":[1,0]}]}}]"#,
                .namedTwice),
            Refused(
                "two arrivals at one place",
                #"[{"name":"items","counts":[3,1,0],"items":{"inserted":[{"at":[0,0],"item":{"id":"x"}}],"#
                    + #""moved":[{"from":[1,0],"to":[0,0]}]}}]"#,
                .namedTwice),
            Refused(
                "a section deleted twice", #"[{"name":"deletes","counts":[1,0],"sections":{"deleted":[0,0]}}]"#,
                .namedTwice),
            Refused(
                "a row updated twice",
                #"[{"name":"updates","counts":[2,1,0],"items":{"updated":[{"at":[0,0],"item":{"id":"a"},"#
                    + #""as":"reload"},{"at":[0,0],"item":{"id":"a"},"as":"reload"}]}}]"#,
                .namedTwice),
            Refused(
                "a row deleted in a deleted section",
                #"[{"name":"deletes","counts":[1,0],"sections":{"deleted":[0]},"items":{"deleted":[[0,0]]}}]"#,
                .insideChangingSection),
            Refused(
                "a row moved out of a deleted section",
                #"[{"name":"deletes","counts":[2,0],"sections":{"deleted":[0]},"items":{"moved":[{"from":[0,0],"#
                    + #""to":[0,0]}]}}]"#,
                .insideChangingSection),
            Refused(
                "a row inserted into an inserted section",
                #"[{"name":"sections","counts":[1,2,1,0],"sections":{"inserted":[{"at":0,"section":{"id":"v","#
                    + #""items":[]}}]},"items":{"inserted":[{"at":[0,0],"item":{"id":"x"}}]}}]"#,
                .insideChangingSection),
            Refused(
                "a row inserted into a moved section",
                #"[{"name":"sections","counts":[1,0,3],"sections":{"moved":[{"from":0,"to":2}]},"#
                    + #""items":{"inserted":[{"at":[2,0],"item":{"id":"x"}}]}}]"#,
                .insideChangingSection),
            Refused(
                "a row deleted from a moved section",
                #"[{"name":"sections","counts":[1,0,1],"sections":{"moved":[{"from":0,"to":2}]},"#
                    + #""items":{"deleted":[[0,0]]}}]"#,
                .insideChangingSection),
            Refused(
                "sections deleted among moves of sections",
                #"[{"name":"sections","counts":[0,1],"sections":{"deleted":[0],"moved":[{"from":1,"to":1}]}}]"#,
                .unsafeTogether),
            Refused(
                "an update among other operations",
                #"[{"name":"items","counts":[1,1,0],"items":{"deleted":[[0,1]],"updated":[{"at":[0,0],"#
                    + #""item":{"id":"a"},"as":"reload"}]}}]"#,
                .unsafeTogether),
            Refused(
                "a header among other operations",
                #"[{"name":"items","counts":[1,1,0],"items":{"deleted":[[0,1]]},"sections":{"updated":[{"at":0,"#
                    + #""section":{"id":"s"},"as":"reconfigure"}]}}]"#,
                .unsafeTogether),
            Refused(
                "wrong counts", #"[{"name":"deletes","counts":[2,1,0],"items":{"deleted":[[0,0]]}}]"#, .wrongCounts),
            Refused(
                "counts of another number of sections",
                #"[{"name":"deletes","counts":[1,1],"items":{"deleted":[[0,0]]}}]"#, .wrongCounts),
            Refused(
                "the second stage as well",
                #"[{"name":"deletes","counts":[1,1,0],"items":{"deleted":[[0,0]]}},"#
                    + #"{"name":"items","counts":[1,1,0],"items":{"deleted":[[0,1]]}}]"#,
                .outOfRange),
            Refused(
                "an id that is there",
                #"[{"name":"items","counts":[2,1,1],"items":{"inserted":[{"at":[2,0],"item":{"id":"a"}}]}}]"#,
                .duplicateID),
            Refused(
                "an update of another row",
                #"[{"name":"updates","counts":[2,1,0],"items":{"updated":[{"at":[0,0],"item":{"id":"b"},"#
                    + #""as":"reload"}]}}]"#,
                .unknownID),
            Refused(
                "a patch without content",
                #"[{"name":"updates","counts":[2,1,0],"items":{"updated":[{"at":[0,1],"item":{"id":"b","#
                    + #""patch":{}},"as":"reload"}]}}]"#,
                .noContent),
            Refused(
                "a header's update that does not say how",
                #"[{"name":"headers","counts":[2,1,0],"sections":{"updated":[{"at":0,"section":{"id":"s"}}]}}]"#,
                .wrongShape),
            Refused("no counts", #"[{"name":"deletes","items":{"deleted":[[0,0]]}}]"#, .wrongShape),
            Refused("another dialect", #"[{"op":"remove","items":["a"]}]"#, .wrongShape),
            Refused("no JSON", #"[{"#, .notJSON),
        ])
    func stages(_ row: Refused) {
        expect(row.reason) { () throws(ApplyError) in try Self.base.applying(staged: Array(row.changes.utf8)) }
    }

    @Test(
        "keyed operations that do not fit are refused",
        arguments: [
            Refused("an unknown row", #"[{"op":"remove","items":["x"]}]"#, .unknownID),
            Refused("an unknown section", #"[{"op":"move","section":"x","before":null}]"#, .unknownID),
            Refused("an unknown anchor", #"[{"op":"move","item":"a","in":"s","before":"x"}]"#, .unknownID),
            Refused("an anchor of another section", #"[{"op":"move","item":"a","in":"s","before":"c"}]"#, .unknownID),
            Refused("an unknown home", #"[{"op":"move","item":"a","in":"x","before":null}]"#, .unknownID),
            Refused(
                "a row that is there", #"[{"op":"insert","items":[{"id":"a"}],"in":"s","before":null}]"#, .duplicateID),
            Refused("a section that is there", #"[{"op":"insert","section":{"id":"s"},"before":null}]"#, .duplicateID),
            Refused(
                "a section whose row is there",
                #"[{"op":"insert","section":{"id":"v","items":[{"id":"a"}]},"before":null}]"#, .duplicateID),
            Refused(
                "a section with a row twice",
                #"[{"op":"insert","section":{"id":"v","items":[{"id":"x"},{"id":"x"}]},"before":null}]"#, .duplicateID),
            Refused(
                "a row whose section went",
                #"[{"op":"remove","section":"s"},{"op":"update","items":[{"id":"a"}],"as":"reload"}]"#, .unknownID),
            Refused("before itself", #"[{"op":"move","item":"a","in":"s","before":"a"}]"#, .wrongShape),
            Refused("no anchor", #"[{"op":"move","item":"a","in":"s"}]"#, .wrongShape),
            Refused("no operation", #"[{"op":"append","item":"a"}]"#, .wrongShape),
            Refused("an unknown member", #"[{"op":"remove","items":["a"],"count":1}]"#, .wrongShape),
            Refused(
                "a row's unknown member", #"[{"op":"update","items":[{"id":"a","title":1}],"as":"reload"}]"#,
                .wrongShape),
            Refused(
                "content and a patch", #"[{"op":"update","items":[{"id":"a","content":1,"patch":{}}],"as":"reload"}]"#,
                .wrongShape),
            Refused(
                "a patch without content", #"[{"op":"update","items":[{"id":"b","patch":{}}],"as":"reload"}]"#,
                .noContent),
            Refused("both", #"[{"op":"remove","items":["a"],"section":"s"}]"#, .wrongShape),
            Refused("not an array", #"{}"#, .wrongShape),
            Refused(
                "a level beyond all",
                #"[{"op":"insert","items":[{"id":"x","level":100000}],"in":"s","before":null}]"#, .wrongShape),
        ])
    func keyed(_ row: Refused) {
        expect(row.reason) { () throws(ApplyError) in try Self.base.applying(keyed: Array(row.changes.utf8)) }
    }

    @Test(
        "indexes that do not fit are refused",
        arguments: [
            Refused(
                "a row that stays behind", #"{"sections":{"deleted":[0]},"items":{"deleted":[[0,0]]}}"#, .wrongShape),
            Refused(
                "a section with rows",
                #"{"sections":{"inserted":[{"at":0,"section":{"id":"v","items":[{"id":"x"}]}}]}}"#, .wrongShape),
            Refused(
                "an update that is elsewhere",
                #"{"items":{"updated":[{"from":[0,0],"at":[0,1],"item":{"id":"a"},"as":"reload"}]}}"#, .outOfRange),
            Refused(
                "an update without its origin",
                #"{"items":{"updated":[{"at":[0,1],"item":{"id":"a"},"as":"reload"}]}}"#, .wrongShape),
            Refused("a path of three", #"{"items":{"deleted":[[0,0,0]]}}"#, .wrongShape),
            Refused(
                "a huge index", #"{"items":{"inserted":[{"at":[0,9223372036854775807],"item":{"id":"x"}}]}}"#,
                .outOfRange),
            Refused("an index beyond counting", #"{"items":{"deleted":[[0,9223372036854775808]]}}"#, .wrongShape),
            Refused("an unknown list", #"{"items":{"added":[]},"rows":{}}"#, .wrongShape),
        ])
    func indexed(_ row: Refused) {
        expect(row.reason) { () throws(ApplyError) in try Self.base.applying(indexed: Array(row.changes.utf8)) }
    }

    private func expect(_ reason: ApplyError.Reason, _ body: () throws(ApplyError) -> RowList) {
        do throws(ApplyError) {
            let list = try body()
            Issue.record("nothing refused: \(list)")
        } catch {
            #expect(error.reason == reason, "\(error)")
        }
    }

    @Test("stages say what to tell a view")
    func viewUpdates() throws {
        let old = try Snapshot(json: #"{"sections":[{"id":"s","items":["a","b"]},{"id":"t","items":["c"]}]}"#)
        let new = try Snapshot(
            json:
                #"{"sections":[{"id":"s","items":["b",{"id":"a","kind":"k"},"x"]},{"id":"t","content":1,"items":[]}]}"#)
        let stages = try RowList(old).stages(Changeset(from: old, to: new).json(.staged))
        #expect(stages.map(\.name) == ["updates", "deletes", "items", "headers"])
        let updates = stages[0].batch.items.updated
        #expect(
            updates == [.init(from: ItemPath(section: 0, row: 0), at: ItemPath(section: 0, row: 0), redraw: .reload)])
        #expect(stages[1].batch.items.deleted == [ItemPath(section: 1, row: 0)])
        #expect(stages[2].batch.items.inserted == [ItemPath(section: 0, row: 2)])
        #expect(stages[2].batch.items.moved.count == 1)
        #expect(stages[3].batch.sections.updated == [.init(from: 1, at: 1, redraw: .reconfigure)])
        #expect(stages[3].list == RowList(new))
        let move = try #require(stages[2].batch.items.moved.first)
        let moved = "moved [0,\(move.from.row)] → [0,\(move.to.row)]"
        #expect(
            stages.map(\.description)
                == ["updated [0,0]", "deleted [1,0]", "inserted [0,2]; \(moved)", "sections updated 1"])
        #expect(stages[3].batch.items.isEmpty && !stages[3].batch.sections.isEmpty)
    }

    @Test("a reset that is no list of rows is refused")
    func resets() throws {
        for (state, reason) in [
            (#"{"sections":[{"id":"s","items":["a"]}]}"#, ApplyError.Reason.wrongShape), ("[]", .wrongShape),
            (#"{"sections":[{"id":"s","items":[{"id":"a"},{"id":"a"}]}]}"#, .duplicateID),
            (#"{"sections":[{"id":"s"},{"id":"s"}]}"#, .duplicateID), ("{", .notJSON), ("{}", .wrongShape),
        ] { expect(reason) { () throws(ApplyError) in try RowList(state: Array(state.utf8)) } }
        #expect(try RowList(state: Array(#" {"sections":[]} "#.utf8)) == RowList())
    }

    @Test(
        "an arrangement that does not fit is refused",
        arguments: [
            Refused("an id that nothing has", #"{"sections":[{"id":"s","items":["x"]}]}"#, .unknownID),
            Refused("a section that nothing has", #"{"sections":[{"id":"x","items":[]}]}"#, .unknownID),
            Refused("a row twice", #"{"sections":[{"id":"s","items":["a"]},{"id":"t","items":["a"]}]}"#, .duplicateID),
            Refused("a section twice", #"{"sections":[{"id":"s","items":[]},{"id":"s","items":[]}]}"#, .duplicateID),
            Refused(
                "a patch of what has no content", #"{"sections":[],"items":[{"id":"b","patch":{}}]}"#, .noContent),
            Refused("no final ids", #"{"reload":["a"]}"#, .wrongShape),
            Refused(
                "a row that is gone, drawn again", #"{"sections":[{"id":"s","items":[]}],"reload":["a"]}"#, .unknownID),
            Refused(
                "a new row, drawn again",
                #"{"sections":[{"id":"s","items":["n"]}],"reconfigure":["n"],"items":[{"id":"n"}]}"#,
                .unknownID),
            Refused(
                "a row drawn again twice",
                #"{"sections":[{"id":"s","items":["a"]}],"reload":["a"],"reconfigure":["a"]}"#,
                .namedTwice),
            Refused("a section that is gone, drawn again", #"{"sections":[],"reloadSections":["s"]}"#, .unknownID),
            Refused(
                "a section drawn again in two ways",
                #"{"sections":[{"id":"s","items":[]}],"reloadSections":["s"],"reconfigureSections":["s"]}"#,
                .namedTwice),
            Refused("an unknown member", #"{"sections":[],"rows":[]}"#, .wrongShape),
        ])
    func misfittingArrangement(refused: Refused) {
        let error = #expect(throws: ApplyError.self) { try Self.base.arrangement(Array(refused.changes.utf8)) }
        #expect(error?.reason == refused.reason)
    }
}
