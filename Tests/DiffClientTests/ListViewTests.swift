import Foundation
import Testing

@testable import DiffClient

@Suite("Typed views", .timeLimit(.minutes(5)))
struct ListViewTests {
    private struct Order: Codable, Equatable, Sendable {
        var to: String
        var total: Double
        var open: Bool
        var day: String
    }

    static let uuid = UUID(uuid: (0xAB, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 1))

    @Test("are what the contract has")
    func written() throws {
        let view = try ListView(
            sections: ["a", "b"],
            where: [
                .at("/content/open", is: true), .at("/content/by", not: nil), .at("/kind", in: ["x", "Y"], fold: true),
                .any([.at("/content/n", below: 1), .at("/content/n", above: 2.5)]), .at("/id", atMost: "m"),
                .at("/content/n", atLeast: 0, fold: true), .at("/content/to", has: "an", fold: true),
                .at("/content/x", exists: false),
            ],
            order: [.at("/content/total", descending: true), .at("/id")], group: .at("/content/day", prefix: 7),
            sectionOrder: [.at("/id", descending: true)], emptySections: false, collapsedSections: Self.uuid,
            collapsedItems: [1, 2], limit: 20, fields: ["/content/to"], sectionFields: [], listFields: ["/content"])
        #expect(
            try view.json
                == JSONText(
                    #"{"sections":["a","b"],"where":[{"at":"/content/open","is":true},{"at":"/content/by","not":null},"#
                        + #"{"at":"/kind","in":["x","Y"],"fold":true},"#
                        + #"{"any":[{"at":"/content/n","below":1},{"at":"/content/n","above":2.5}]},"#
                        + #"{"at":"/id","atMost":"m"},{"at":"/content/n","atLeast":0,"fold":true},"#
                        + #"{"at":"/content/to","has":"an","fold":true},{"at":"/content/x","exists":false}],"#
                        + #""order":[{"at":"/content/total","descending":true},{"at":"/id","descending":false}],"#
                        + #""group":{"at":"/content/day","prefix":7},"sectionOrder":[{"at":"/id","descending":true}],"#
                        + #""emptySections":false,"#
                        + #""collapsed":{"sections":["ab000000-0000-4000-8000-000000000001"],"items":[1,2]},"#
                        + #""limit":20,"fields":["/content/to"],"sectionFields":[],"listFields":["/content"]}"#),
            "\(view.json)")
        #expect(try ListView().json == JSONText("{}"))
        #expect(try ListView(limit: 1) == ListView(JSONText(#"{ "limit" : 1 }"#)))
        #expect(throws: EncodingError.self) { try ListView(where: [.at("/content/n", is: Double.nan)]) }
    }

    @Test("show what they say", .realServer, arguments: [ListClient.Form.keyed, .staged(), .diffable])
    func shown(form: ListClient.Form) async throws {
        let server = try RunningServer()
        var client = ListClient.hasty(server)
        client.form = form
        let orders = [
            Order(to: "Ann", total: 12.5, open: true, day: "2026-11-25"),
            Order(to: "Bob", total: 7, open: false, day: "2026-11-25"),
            Order(to: "anna", total: 40, open: true, day: "2026-11-26"),
            Order(to: "Joan", total: 1, open: true, day: "2026-11-26"),
            Order(to: "Dee", total: 8.2, open: true, day: "2026-11-27"),
        ]
        try await client.post(orders.enumerated().map { NewElement($0, $1) })
        client.view = try ListView(
            where: [
                .at("/content/open", is: true),
                .any([.at("/content/to", has: "AN", fold: true), .at("/content/total", below: 2)]),
            ],
            order: [.at("/content/total", descending: true)], group: .at("/content/day"),
            sectionOrder: [.at("/id")], emptySections: false)
        var updates = client.updates.makeAsyncIterator()
        let ids = { (list: RowList?) in list?.sections.map { [$0.id.text] + $0.rows.map(\.id.text) } }
        #expect(ids(try await updates.next()?.list) == [["2026-11-25", "0"], ["2026-11-26", "2", "3"]])

        try await client.edit(.patch(4, ["to": "Hannah"]))
        let update = try #require(try await updates.next())
        #expect(ids(update.list) == [["2026-11-25", "0"], ["2026-11-26", "2", "3"], ["2026-11-27", "4"]])
        #expect(update.reason == nil)

        client.view = ListView(try JSONText(#"{"limit":"x"}"#))
        var refused = client.updates.makeAsyncIterator()
        let problem = await #expect(throws: ServerProblem.self) { try await refused.next() }
        #expect(problem?.status == 400)
    }
}
