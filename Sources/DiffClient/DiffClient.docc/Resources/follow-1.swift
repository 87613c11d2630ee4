import DiffClient
import Foundation

struct Fire: Codable, Sendable {
    var name: String
    var acres: Int?
}

struct Item: Encodable {
    var id: String
    var content: Fire
}

let client = ListClient(url: URL(string: "http://localhost:8080")!, session: "fires")

try await client.post([
    Item(id: "4a03", content: Fire(name: "Platina Fire", acres: 10)),
    Item(id: "91c7", content: Fire(name: "Sheep Fire", acres: 775)),
])
