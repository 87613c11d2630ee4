import Testing

@testable import DiffClient

@Suite("Reading server-sent events")
struct EventParserTests {
    private static let text = """
        retry: 1000

        id: 1-a

        :\u{20}
        event: changes
        id: 2-b
        data: {"to":"2-b","title":"Größe"}

        event:changes\r
        data: one\r
        data:two\r
        \r
        event: other
        data: nobody knows it

        data: nor this

        id
        field without a colon

        event: end
        data: {}


        """
    private static let events: [News.Outcome] = [
        .success(.revision("1-a")), .success(.changes(Array(#"{"to":"2-b","title":"Größe"}"#.utf8))),
        .success(.changes(Array("one\ntwo".utf8))), .failure(ServerProblem(title: "The stream has ended")),
    ]

    @Test("they may break anywhere", arguments: [1, 2, 3, 7, 16, 1_000])
    func pieces(size: Int) {
        let bytes = Array(Self.text.utf8)
        var parser = EventParser()
        var events: [News.Outcome] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            events += parser.read(bytes[start..<min(start + size, bytes.count)])
        }
        #expect(events == Self.events)
    }
}
