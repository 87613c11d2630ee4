import CSQLite
import CSystem
import DiffClient
import Foundation

// An app's use of both libraries, by one import; the neighbours' modules are linked in as well.
precondition(neighbour_CSystem() + neighbour_CSQLite() == 2)

var followed = FollowedList()
for answer in [
    #"{"from":null,"to":"1-0","dialect":"keyed","reset":"initial","#
        + #""state":{"sections":[{"id":"main","items":[{"id":"milk"},{"id":"tea"}]}]}}"#,
    #"{"from":"1-0","to":"2-0","dialect":"keyed","#
        + #""changes":[{"op":"move","item":"tea","in":"main","before":"milk"}]}"#,
] {
    _ = try followed.take(Array(answer.utf8))
}

// An edit, sent to a transport in place of a server.
var client = ListClient(url: URL(string: "http://localhost")!, session: "list")
client.transport = { request in
    let body = String(decoding: request.httpBody ?? Data(), as: UTF8.self)
    precondition(body.contains(#""op":"move""#) && body.contains(#""before":"milk""#), body)
    let headers = ["Content-Type": "application/json"]
    let response = HTTPURLResponse(url: request.url!, statusCode: 200, httpVersion: nil, headerFields: headers)!
    return (Data(#"{"session":"list","from":"1-0","to":"2-0"}"#.utf8), response)
}
let revision = try await client.edit(.move("tea", before: "milk"))
precondition(revision == followed.revision)

let ids: [ElementID] = followed.list.sections[0].rows.map(\.id)
print(ids.map(\.text).joined(separator: " "))
