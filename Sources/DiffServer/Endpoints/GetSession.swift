import HTTPCore
import SnapshotKit

/// The whole state, with the revision as its entity tag.
enum GetSession {
    @Sendable
    static func answer(_ call: Call) throws(Problem) -> Reply {
        try call.reading { (reading) throws(Problem) in .now(try answer(call, reading)) }
    }

    private static func answer(_ call: Call, _ reading: Reading) throws(Problem) -> Response {
        let revision = reading.session.head.revision
        let fields = [
            Field("ETag", "\"\(revision.text)\""), Field("Cache-Control", "private, no-cache"),
            Field("Diffserver-Expires", call.service.table.expiry(of: reading.slot).text),
        ]
        if EntityTags(call.head, "if-none-match")?.matches(revision) == true {
            return Response(status: 304, fields: fields)
        }
        try reading.checkRoom()
        return Response(
            status: 200, fields: [Field("Content-Type", "application/json")] + fields, body: reading.document(),
            isCompressible: true)
    }
}
