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
