import HTTPCore
import SnapshotKit

/// The whole state, with the revision as its entity tag.
struct GetSession: ReadingEndpoint {
    let call: Call
    private let sight: Sight

    init(_ call: Call) throws(Problem) {
        self.call = call
        sight = try Sight(viewOf: call)
    }

    func reply(_ view: SessionView) throws(Problem) -> Reply {
        let revision = view.name(of: ReaderBase(revision: view.session.head.revision), sight)
        var fields = [
            Field("ETag", "\"\(revision.text)\""), Field("Cache-Control", "private, no-cache"),
            Field("Diffserver-Expires", view.table.expiry(of: view.slot).text),
        ]
        if let seconds = call.service.upstream?.staleness(of: call.session) {
            fields.append(Field("Diffserver-Stale", "\(seconds)"))
        }
        if RevisionTags(call.head, "if-none-match")?.matches(revision) == true {
            return .now(Response(status: 304, fields: fields))
        }
        try view.checkRoom()
        return .now(
            Response(
                status: 200, fields: [Field("Content-Type", "application/json")] + fields, body: view.document(sight),
                isCompressible: true))
    }
}
