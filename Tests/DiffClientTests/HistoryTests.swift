import DiffClient
import Foundation
import SnapshotKit
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Random histories of the real server with everything switched on, applied in each dialect.
@Suite("Following random histories", .realServer, .timeLimit(.minutes(5)))
struct HistoryTests {
    static let queries = ["keyed", "indexed", "staged", "staged&staging=compact", "diffable"].flatMap { dialect in
        ["full", "patch"].map { "dialect=\(dialect)&content=\($0)" }
    }

    @Test("what is shown is what the server holds, after each answer", arguments: queries)
    func everything(query: String) async throws {
        let server = try RunningServer()
        let client = ListClient.hasty(server)
        var chance = SplitMix64(seed: UInt64(query.utf8.reduce(7) { ($0 &* 31 &+ Int($1)) & 0xFFFF_FFFF }))
        var followed = FollowedList()
        try await client.send("PUT", #"{"state":\#(Self.state(&chance))}"#)
        for round in 0..<40 {
            try await write(to: server, &chance)
            let since = followed.revision.map { "&since=\($0)" } ?? ""
            let more = ["", "", "&smallest=true", "&maxChanges=4"][chance.below(4)]
            let answer = try await request(server, "GET", "changes?\(query)\(since)\(more)")
            _ = try followed.take(answer)
            let shown = try await client.shown()
            #expect(followed.list == shown, "round \(round): \(String(decoding: answer, as: UTF8.self))")
        }
    }

    static let dialects = ["keyed", "indexed", "staged", "staged&staging=compact", "diffable"]

    @Test("what is shown of a view, in a window that moves, is what the server shows there", arguments: dialects)
    func windows(dialect: String) async throws {
        let server = try RunningServer()
        let client = ListClient.hasty(server)
        var chance = SplitMix64(seed: UInt64(dialect.utf8.count))
        try await client.send("PUT", #"{"state":\#(Self.state(&chance))}"#)
        for view in Self.views {
            let encoded = try #require(view.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
            var followed = FollowedList()
            for round in 0..<25 {
                if !chance.once(in: 4) { try await write(to: server, &chance) }
                let (row, id) = (chance.below(8), chance.below(12))
                let place = ["at=start", "at=end", "at=\(row)", "around=\(id)"][chance.below(4)]
                let window = "\(place)&before=\(chance.below(4))&after=\(chance.below(6))"
                let query = "dialect=\(dialect)&view=\(encoded)&\(window)"
                let since = followed.revision.map { "&since=\($0)" } ?? ""
                let answer = try await request(server, "GET", "changes?\(query)\(since)")
                _ = try followed.take(answer)
                // A missing anchor's old place is known only to a reader with a base revision.
                if let anchor = followed.window?.anchor, place.hasPrefix("around"), place != "around=\(anchor.text)" {
                    continue
                }
                var fresh = FollowedList()
                _ = try fresh.take(try await request(server, "GET", "changes?\(query)"))
                let words: Comment = "round \(round): \(query)\(since): \(String(decoding: answer, as: UTF8.self))"
                #expect(followed.list == fresh.list, words)
                #expect(followed.window == fresh.window, words)
                #expect(followed.revision == fresh.revision, words)
            }
        }
    }

    static let views = [
        "{}", #"{"sections":["s1","s2"],"order":[{"at":"/content/n","descending":true}]}"#,
        #"{"where":[{"at":"/content/n","atMost":1}],"fields":["/content/title"],"limit":5}"#,
    ]

    /// Changes the session in one of the possible ways.
    private func write(to server: RunningServer, _ chance: inout SplitMix64) async throws {
        switch chance.below(7) {
        case 0, 1: try await request(server, "POST", "changes", Self.state(&chance))
        case 2: try await request(server, "POST", "changes?reload=true", Self.state(&chance))
        case 3:
            let keep = chance.once(in: 2) ? #"["expanded"]"# : "[]"
            try await request(server, "PUT", "", #"{"keep":\#(keep),"ttl":\#(600 + chance.below(99))}"#)
        case 4:
            let rows = (0..<chance.below(8)).map { _ in
                let type = ["null", #""ad""#][chance.below(2)]
                return #"{"key":"k\#(chance.below(8))","type":\#(type),"n":\#(chance.below(3))}"#
            }
            let shape = "itemsAt=/rows&idAt=/key&kindAt=/type&rest=true&duplicates=first"
            let document = #"{"rows":[\#(rows.joined(separator: ","))],"next":\#(chance.below(3))}"#
            try await request(server, "POST", "changes?\(shape)", document)
        default:
            let operation = ["reload", "reconfigure", "expand", "collapse"][chance.below(4)]
            let place = ["start", "end"][chance.below(2)]
            // Refused if there is no such row; that changes nothing.
            let edits = [
                #"{"op":"\#(operation)","items":["\#(chance.below(12))"]}"#,
                #"{"op":"move","items":["\#(chance.below(12))"],"at":"\#(place)"}"#,
                #"{"op":"insert","items":[{"id":"new\#(chance.below(1 << 40))"}],"at":"\#(place)"}"#,
                #"{"op":"\#(operation)","sections":["s\#(chance.below(3))"]}"#,
            ]
            try await request(server, "POST", "changes", #"{"edits":[\#(edits[chance.below(4)])]}"#)
        }
    }

    @discardableResult
    private func request(_ server: RunningServer, _ method: String, _ path: String, _ body: String? = nil)
        async throws -> [UInt8]
    {
        let slash = path.isEmpty ? "" : "/"
        var request = URLRequest(url: try #require(URL(string: "\(server.url)/v1/sessions/list\(slash)\(path)")))
        request.httpMethod = method
        request.httpBody = body.map { Data($0.utf8) }
        return [UInt8](try await URLSession.shared.data(for: request).0)
    }

    /// Up to three sections with rows from 0 to 11, in some order and some of them children of others.
    private static func state(_ chance: inout SplitMix64) -> String {
        var rows = (0..<12).map(String.init).shuffled(using: &chance).prefix(3 + chance.below(10))
        var sections: [String] = []
        for name in ["s0", "s1", "s2"].shuffled(using: &chance).prefix(1 + chance.below(3)) {
            var items: [String] = []
            for _ in 0..<chance.below(6) where !rows.isEmpty {
                let children = (0..<chance.below(3)).compactMap { _ in
                    rows.popFirst().map { #"{"id":"\#($0)","content":\#(chance.below(3))}"# }
                }
                guard let id = rows.popFirst() else { break }
                let kind = chance.once(in: 3) ? #","kind":"ad""# : ""
                let expanded = ["", #","expanded":false"#, #","expanded":true"#][chance.below(3)]
                items.append(
                    #"{"id":"\#(id)","content":{"title":"row \#(id)","text":"a text that stays","#
                        + #""n":\#(chance.below(3))}"#
                        + #"\#(kind)\#(expanded),"items":[\#(children.joined(separator: ","))]}"#)
            }
            let content = chance.once(in: 2) ? #","content":{"title":"\#(name)","n":\#(chance.below(2))}"# : ""
            sections.append(#"{"id":"\#(name)"\#(content),"items":[\#(items.joined(separator: ","))]}"#)
        }
        let content = chance.once(in: 2) ? #""content":{"page":\#(chance.below(3)),"title":"a list"},"# : ""
        return #"{\#(content)"sections":[\#(sections.joined(separator: ","))]}"#
    }
}
