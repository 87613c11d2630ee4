/// A compressible answer once its coding is chosen (RFC 9110 §8.4, §8.8.3.3, §12.5.3, §12.5.5).
extension Response {
    /// The same answer with `Accept-Encoding` in `Vary`.
    func varying() -> Response {
        var response = self
        guard let index = fields.firstIndex(where: { $0.name.lowercased() == "vary" }) else {
            response.fields.append(Field("Vary", "Accept-Encoding"))
            return response
        }
        let names = FieldList.elements(fields[index].value).map { $0.lowercased() }
        if !names.contains("accept-encoding"), !names.contains("*") {
            response.fields[index].value += ", Accept-Encoding"
        }
        return response
    }

    /// The same answer with a gzip body, or unchanged if gzip was not smaller (nil). A strong entity tag names one
    /// sequence of octets, so `"a"` becomes `"a;gzip"`.
    func encoded(_ body: Body?) -> Response {
        var response = varying()
        response.isCompressible = false
        guard let body else { return response }
        response.body = body
        response.fields.append(Field("Content-Encoding", "gzip"))
        if let index = fields.firstIndex(where: { $0.name.lowercased() == "etag" }) {
            let tag = fields[index].value
            if tag.hasPrefix("\""), tag.hasSuffix("\""), tag.count > 1 {
                response.fields[index].value = "\(tag.dropLast());gzip\""
            }
        }
        return response
    }
}
