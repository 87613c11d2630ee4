import DiffSessions
import HTTPCore
import DiffPage
import SnapshotKit

/// A file in the binary: the playground, the JavaScript client, or the API's description.
struct GetFile: Sendable {
    private let bytes: [UInt8]
    private let type: String
    private let tag: String
    private let fields: [Field]

    static let page = GetFile(
        page_index(), "text/html; charset=utf-8",
        policy: { PagePolicy(of: $0, scripts: "'self'", others: "img-src data:; connect-src 'self'; ") })
    static let client = GetFile(page_client(), "text/javascript; charset=utf-8")
    static let apply = GetFile(page_apply(), "text/javascript; charset=utf-8")
    static let bind = GetFile(page_bind(), "text/javascript; charset=utf-8")
    static let updates = GetFile(page_updates(), "text/javascript; charset=utf-8")
    static let edits = GetFile(page_edits(), "text/javascript; charset=utf-8")
    static let clientTypes = GetFile(page_client_types(), "text/plain; charset=utf-8")
    static let description = GetFile(page_openapi(), "application/json")
    /// The playground's own modules, by their names.
    private static let modules = Dictionary(
        uniqueKeysWithValues: (0..<page_module_count()).map { at in
            let module = page_module(at)
            return (String(cString: module.name), GetFile(module.file, "text/javascript; charset=utf-8"))
        })

    /// - Parameter policy: of a page, made from its bytes.
    private init(_ file: page_file, _ type: String, policy: ([UInt8]) -> PagePolicy? = { _ in nil }) {
        bytes = Array(UnsafeBufferPointer(start: file.bytes, count: Int(file.count)))
        self.type = type
        // Not with the process's own key: the tag must stay the same after a restart.
        let digest = bytes.withUnsafeBytes { KeyedHash(seed: 0, 0).digest(of: $0) }
        tag = String(digest, radix: 16)
        fields = policy(bytes)?.fields ?? []
    }

    @Sendable
    static func module(_ call: OpenCall) throws(Problem) -> Response {
        guard let file = modules[call.place["file"]] else {
            throw Problem(.routeNotFound, "the playground has no file \"\(call.place["file"])\"")
        }
        return file.answer(call)
    }

    @Sendable
    func answer(_ call: OpenCall) -> Response {
        let common = [Field("ETag", "\"\(tag)\""), Field("Cache-Control", "no-cache")]
        if RevisionTags(call.head, "if-none-match")?.names(tag) == true {
            return .notModified(common, unsent: bytes.count)
        }
        return Response(
            status: 200, fields: [Field("Content-Type", type)] + common + fields, body: .bytes(bytes),
            isCompressible: true)
    }
}
