import DiffClient
import Foundation

struct Fire: Codable, Sendable {
    var name: String
    var acres: Int?
}

let client = ListClient(url: URL(string: "http://localhost:8080")!, session: "fires")

try await client.post([
    NewElement("4a03", Fire(name: "Platina Fire", acres: 10)),
    NewElement("91c7", Fire(name: "Sheep Fire", acres: 775)),
])
