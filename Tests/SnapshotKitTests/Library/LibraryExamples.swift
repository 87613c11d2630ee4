import DiffClient
import Foundation
import SnapshotKit
import Testing

@testable import SnapshotViews

// The code of docs/library.md and of doc comments, which is compared with this file line by line.

@Suite("The library's page")
struct LibraryExamples {
    @Test("reading")
    func read() throws {
        let inbox = try Snapshot(
            json: #"[{"id":17,"content":{"subject":"Hello"}},{"id":18,"content":{"subject":"Bye"}}]"#)
        let users = try Snapshot(
            json: #"{"data":{"members":[{"userID":"anna","age":7}]}}"#,
            shape: .pointers(itemsAt: JSONPointer("/data/members"), idAt: JSONPointer("/userID")))

        let mail = inbox.item(withID: "18")
        let place = mail?.path  // [0,1]: section 0, row 1
        let first = inbox.item(at: ItemPath(section: 0, row: 0))?.id  // 17

        #expect(users.item(withID: "anna")?.content == Array(#"{"userID":"anna","age":7}"#.utf8))
        #expect(place == ItemPath(section: 0, row: 1))
        #expect(first == 17)
    }

    @Test("building")
    func build() throws {
        struct Task {
            var id: Int
            var title: String
        }
        let tasks = [Task(id: 1, title: "Milk"), Task(id: 2, title: "Bread")]

        var builder = Snapshot.Builder()
        builder.section("today", items: tasks, id: { ElementID($0.id) }) { task, json in
            json.append(#"{"title":"#)
            json.append(string: task.title)
            json.append("}")
        }
        try builder.section("later", content: JSONText(#"{"title":"Later"}"#), isExpanded: false) {
            $0.item("trip", kind: "folder") { $0.item("tickets") }
        }
        let list = try builder.build()

        #expect(list.item(withID: "2")?.content == Array(#"{"title":"Bread"}"#.utf8))
        #expect(list.rowCount == 2 && list.itemCount == 4)
    }

    @Test("diffing, applying, editing")
    func diff() throws {
        let old = try Snapshot(json: #"[{"id":"a","content":1},"b","c"]"#)
        let new = try Snapshot(json: #"["c",{"id":"a","content":2},"d"]"#)
        let change = Changeset(from: old, to: new)
        let counts = change.counts  // 1 deletion, 1 insertion, 1 move, 1 update

        let forTheBrowser = change.json(.keyed)  // bytes; as a String: change.text(.keyed)
        let forUIKit = change.json(.staged, staging: .compact)

        print(new)  // a line for each section and item
        print(change)  // a line for each operation

        #expect(
            counts.deletions == 1 && counts.insertions == 1 && counts.moves == 1 && counts.updates == 1
                && counts.total == 4)
        #expect(try RowList(old).applying(keyed: forTheBrowser) == RowList(new))
        #expect(try RowList(old).applying(staged: forUIKit) == RowList(new))

        let shown = RowList(old)
        let next = try shown.applying(keyed: change.json(.keyed))

        for stage in try shown.stages(change.json(.staged)) {
            // view.performBatchUpdates { model = stage.list; view.deleteItems(at: …stage.batch.items.deleted…) }
            print(stage.name, stage.batch.items.deleted, stage.list.sections.map(\.rows.count))
        }

        #expect(next == RowList(new))
    }

    @Test("editing")
    func edit() throws {
        let old = try Snapshot(json: #"[{"id":"a","content":1},"b","c"]"#)

        struct Note: Codable {
            var title: String
            var likes = 0
        }

        let (liked, _, _) = try old.applying(
            .insert(NewElement("x", Note(title: "New")), after: "a"), .add("x", "/likes", 1), .move("c", at: .start),
            .remove("b"))
        print(Changeset(from: old, to: liked))

        #expect("\(liked)" == "main\n  c\n  a 1\n  x {\"title\":\"New\",\"likes\":1}")

        let batch = try EditBatch(
            json: #"""
                [{"op":"insert","items":[{"id":"x","content":{"title":"New"}}],"after":"a"},
                 {"op":"move","items":["c"],"at":"start"},
                 {"op":"reload","items":["b"]}]
                """#)
        let (edited, marks, _) = try old.applying(batch)
        let drawn = Changeset(from: old, to: edited, marks: marks)

        #expect(edited.sections[0].rows.map(\.id) == ["c", "a", "x", "b"])
        #expect(drawn.counts.updates == 1)
        #expect(throws: EditError.self) { try liked.applying(batch) }

        let answer = try Snapshot(json: #"[{"no":"c","n":4},{"no":"e"}]"#, shape: .pointers(idAt: JSONPointer("/no")))
        let (screen, _, _) = try old.replacing(itemsOf: "main", by: answer)

        #expect("\(screen)" == "main\n  c {\"no\":\"c\",\"n\":4}\n  e {\"no\":\"e\"}")
    }

    @Test("the mutators of Apple's snapshots")
    func mutators() throws {
        struct Note: Codable {
            var title: String
        }
        let list = try Snapshot(json: #"{"sections":[{"id":"today","items":["a","b"]}]}"#)

        let edits: [ListEdit] = [
            .sections(.insert(["late", "done"])),  // appendSections(["late", "done"])
            .sections(.insert("soon", before: "late")),  // insertSections(["soon"], beforeSection: "late")
            .sections(.move("done", after: "today")),  // moveSection("done", afterSection: "today")
            .sections(.remove("late")),  // deleteSections(["late"])
            .insert(["x", "y"]),  // appendItems(["x", "y"])
            .insert(NewElement("z", Note(title: "Z")), into: .section("today")),  // appendItems(_:toSection:)
            .insert("w", before: "x"),  // insertItems(["w"], beforeItem: "x")
            .insert("v", after: "x"),  // insertItems(["v"], afterItem: "x")
            .move("a", before: "x"),  // moveItem("a", beforeItem: "x")
            .move("b", after: "a"),  // moveItem("b", afterItem: "a")
            .remove(["w", "v"]),  // deleteItems(["w", "v"])
            .reload("y"),  // reloadItems(["y"])
            .reconfigure("z"),  // reconfigureItems(["z"])
            .sections(.reload("soon")),  // reloadSections(["soon"])
            .update("a", Note(title: "Apple")),  // no method: Apple's items have no contents
        ]

        #expect(
            "\(try list.applying(edits).snapshot)" == """
                today
                  z {"title":"Z"}
                done
                soon
                  a {"title":"Apple"}
                  b
                  x
                  y
                """)

        let outline: [ListEdit] = [
            .insert("e", into: .section("today")),  // append(["e"])
            .insert(["f", "g"], into: .item("e")),  // append(["f", "g"], to: "e")
            .insert(NewElement("h", items: [NewElement("i")]), before: "g"),  // insert(h, before: "g"), a tree
            .insert("j", after: "g"),  // insert(["j"], after: "g")
            .remove("f"),  // delete(["f"])
            .clear("e"), .insert(["k", "l"], into: .item("e")),  // replace(childrenOf: "e", using: …)
            .expand("e"),  // expand(["e"])
            .collapse("e"),  // collapse(["e"])
            .sections(.clear("soon")),  // deleteAll()
            .clear(), .insert("last", into: .section("done")),  // deleteAllItems(), but that the sections stay
        ]

        let edited = try list.applying(edits + outline)
        let answer = try Snapshot(json: #"["m",{"id":"n","items":["o"]}]"#)
        let applied = try edited.snapshot.replacing(itemsOf: "today", by: answer)
        print(Changeset(from: list, to: applied.snapshot, marks: edited.marks))

        #expect("\(applied.snapshot)" == "today\n  m\n  n\n    o\ndone\n  last\nsoon")
    }

    @Test("showing a part")
    func show() throws {
        let shop = try Snapshot(
            json: #"""
                [{"id":1,"content":{"name":"Tea","price":4.50}},{"id":2,"content":{"name":"Pot","price":38}},
                 {"id":3,"content":{"name":"Cup","price":9}}]
                """#)
        let cheap = try StateView(
            json: #"""
                {"where":[{"at":"/content/price","below":20}],
                 "order":[{"at":"/content/name"}],"fields":["/content/name"]}
                """#)
        let offers = shop.applying(cheap)  // 3 {"name":"Cup"}, then 1 {"name":"Tea"}

        let window = shop.window(StateWindow(.around(2), before: 1, after: 0))
        let outside = (window.above, window.below)  // none above, 1 below: rows 1 and 2 are shown

        #expect(offers.sections[0].rows.map(\.id) == [3, 1])
        #expect(offers.item(withID: "3")?.content == Array(#"{"name":"Cup"}"#.utf8))
        #expect(outside == (0, 1) && window.state.sections[0].rows.map(\.id) == [1, 2])

        let seen = ViewedState(cheap, of: shop)
        let batch = try EditBatch(json: #"[{"op":"update","items":[{"id":2,"content":{"name":"Pot","price":39}}]}]"#)
        let priced = try shop.applying(batch)
        let step = StateStep(Changeset(from: shop, to: priced.snapshot, shared: priced.shared))
        let (now, isSame) = seen.advanced(over: step)  // the same: nobody sees the pot
        let page = now.window(StateWindow(.start), since: WindowBase(seen, at: window.position))

        #expect(isSame && page.anchor == 3)
    }

    @Test(
        "page and comments show this code",
        arguments: [
            ("docs/library.md", 9), ("docs/coming-from-uikit.md", 3), ("Sources/SnapshotKit/Diff/Changeset.swift", 1),
        ])
    func page(path: String, count: Int) throws {
        let here = URL(fileURLWithPath: #filePath)
        var root = here
        for _ in 0..<4 { root.deleteLastPathComponent() }
        let page = try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
        let text = page.replacingOccurrences(of: "/// ", with: "")
        let code = lines(try String(contentsOf: here, encoding: .utf8)[...])
        let blocks = text.components(separatedBy: "```swift\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
        #expect(blocks.count == count)
        for block in blocks {
            let wanted = lines(block[...])
            let isThere = code.indices.contains { start in code[start...].starts(with: wanted) }
            #expect(isThere, "\(block)")
        }
    }

    private func lines(_ text: Substring) -> [String] {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }
}
