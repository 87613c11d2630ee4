import HTTPCore

extension Response {
    /// JSON that no cache keeps.
    init(status: Int = 200, json: [UInt8], fields: [Field] = [], isCompressible: Bool = true) {
        self.init(
            status: status,
            fields: [Field("Content-Type", "application/json"), Field("Cache-Control", "no-store")] + fields,
            body: .bytes(json), isCompressible: isCompressible)
    }

    /// Says that the client has an answer already, of so many octets.
    static func notModified(_ fields: [Field], unsent count: Int) -> Response {
        Response(status: 304, fields: fields, body: .unsent(count), isCompressible: true)
    }
}
