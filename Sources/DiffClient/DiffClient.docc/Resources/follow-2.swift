import DiffClient
import Foundation

struct Fire: Codable, Sendable {
    var name: String
    var acres: Int?
}

let client = ListClient(url: URL(string: "http://localhost:8080")!, session: "fires")

var decoder = ItemDecoder<Fire>()
for try await update in client.updates {
    let rows = decoder.sections(of: update.list).flatMap(\.rows)
    print(rows.map(\.item.name))
}
