import DiffSessions
import DiffStores
import HTTPCore
import SnapshotKit

/// The whole state, with the revision as its entity tag.
struct GetSession: ReadingEndpoint {
    let call: Call
    private let projection: Projection

    init(_ call: Call) throws(Problem) {
        self.call = call
        projection = try call.viewedProjection()
    }

    func reply(_ view: SessionView) throws(Problem) -> Reply {
        let revision = view.name(of: ReaderState(revision: view.session.head.revision), projection)
        var fields = [
            Field("Content-Type", "application/json"), Field("ETag", "\"\(revision.text)\""),
            Field("Cache-Control", "private, no-cache"),
            Field("Diffserver-Expires", view.table.expiry(of: view.slot).text),
        ]
        if let seconds = call.service.source?.staleness(of: call.session) {
            fields.append(Field("Diffserver-Stale", "\(seconds)"))
        }
        if RevisionTags(call.head, "if-none-match")?.matches(revision) == true {
            return .now(.notModified(Array(fields.dropFirst()), unsent: view.documentSize(projection)))
        }
        try view.checkRoom()
        return .now(Response(status: 200, fields: fields, body: view.document(projection), isCompressible: true))
    }
}
