import HTTPCore
import SnapshotKit

/// The whole state, with the revision as its entity tag.
enum GetSession {
    @Sendable
    static func answer(_ call: Call) throws(Problem) -> Reply {
        try call.reading { .now(answer(call, $0)) }
    }

    private static func answer(_ call: Call, _ reading: Reading) -> Response {
        let revision = reading.session.head.revision
        let fields = [
            Field("ETag", "\"\(revision.text)\""), Field("Cache-Control", "private, no-cache"),
            Field("Diffserver-Expires", call.service.table.expiry(of: reading.slot).text),
        ]
        if EntityTags(call.head, "if-none-match")?.matches(revision) == true {
            return Response(status: 304, fields: fields)
        }
        var writer = JSONWriter(capacity: reading.session.head.snapshot.footprint)
        writer.append("{\"session\":")
        writer.append(string: call.session)
        writer.append(",\"revision\":")
        writer.append(string: revision.text)
        writer.append(",\"state\":")
        reading.session.head.snapshot.writeDocument(into: &writer)
        writer.append(byte: UInt8(ascii: "}"))
        return Response(
            status: 200, fields: [Field("Content-Type", "application/json")] + fields, body: .bytes(writer.bytes()),
            isCompressible: true)
    }
}
