import CSQLite
import CSystem
import DiffClient

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
let ids: [ElementID] = followed.list.sections[0].rows.map(\.id)
print(ids.map(\.text).joined(separator: " "))
