import DiffClient
import SnapshotKit
import Testing

@Suite("Following a session")
struct FollowedListTests {
    private func answer(_ members: String) -> [UInt8] { Array("{\"session\":\"s\",\(members)}".utf8) }

    private func reset(_ ids: [ElementID], to revision: String) throws -> [UInt8] {
        var builder = Snapshot.Builder()
        builder.section("main") { items in ids.forEach { items.item($0) } }
        let rows = String(decoding: try builder.build().rowsJSON(), as: UTF8.self)
        return answer(#""from":null,"to":"\#(revision)","dialect":"keyed","reset":"initial","state":\#(rows)"#)
    }

    @Test("the client's rule")
    func rule() throws {
        var followed = FollowedList()
        let removal = #""dialect":"keyed","changes":[{"op":"remove","items":["a"]}]"#
        guard case .elsewhere = try followed.take(answer(#""from":"1","to":"2",\#(removal)"#)) else { return failed() }
        guard case .replaced("initial") = try followed.take(reset(["a", "b"], to: "1")) else { return failed() }
        guard case .elsewhere = try followed.take(answer(#""from":"0","to":"2",\#(removal)"#)) else { return failed() }
        guard case .changed([]) = try followed.take(answer(#""from":"1","to":"2",\#(removal)"#)) else {
            return failed()
        }
        #expect(followed.list.sections[0].rows.map(\.id) == ["b"])
        guard case .current = try followed.take(answer(#""from":"1","to":"2",\#(removal)"#)) else { return failed() }
        let nothing = #""from":"2","to":"2","dialect":"indexed","changes":{},"warnings":[]"#
        guard case .current = try followed.take(answer(nothing)) else { return failed() }
        #expect(followed.revision == "2")
        let staged = #""dialect":"staged","changes":[{"name":"deletes","counts":[0],"items":{"deleted":[[0,0]]}}]"#
        guard case .changed(let stages) = try followed.take(answer(#""from":"2","to":"3",\#(staged)"#)) else {
            return failed()
        }
        #expect(stages.map(\.name) == ["deletes"])
        #expect(followed.list.sections[0].rows.isEmpty)
    }

    @Test(
        "an answer that does not fit makes the client start over",
        arguments: [
            #""from":"1","to":"2","dialect":"keyed","changes":[{"op":"remove","items":["x"]}]"#,
            #""from":"1","to":"2","dialect":"sequential","changes":[]"#, #""from":"1","to":"2","dialect":"keyed""#,
            #""from":"1","dialect":"keyed","changes":[]"#, #""from":"1","to":"2","reset":"large","changes":[]"#,
            #""from":1"#, "",
        ])
    func misfits(members: String) throws {
        var followed = FollowedList()
        _ = try followed.take(reset(["a"], to: "1"))
        let list = followed.list
        #expect(throws: ApplyError.self) { try followed.take(answer(members)) }
        #expect(followed.revision == nil)
        #expect(followed.list == list)
        guard case .elsewhere = try followed.take(answer(#""from":"1","to":"2","dialect":"keyed","changes":[]"#)) else {
            return failed()
        }
    }

    private func failed() { Issue.record("another outcome") }
}

private func ~= (pattern: [ListStage], stages: [ListStage]) -> Bool { pattern.map(\.name) == stages.map(\.name) }
