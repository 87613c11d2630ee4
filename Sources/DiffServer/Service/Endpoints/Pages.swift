import DiffPage
import DiffSessions
import FoundationEssentials
import HTTPCore
import SnapshotKit

/// Whether the process is alive, and whether it is ready for work.
enum GetHealth {
    /// Made once: making it took a tenth of the request.
    private static let alive = Response(status: 200, text: "ok\n", fields: [Field("Cache-Control", "no-store")])

    @Sendable
    static func live(_ call: OpenCall) -> Response { alive }

    /// With `?store=optional` an outage of the store does not count once the store has been reached: all nodes share
    /// it, and taking requests from them would not help.
    @Sendable
    static func ready(_ call: OpenCall) throws(Problem) -> Response {
        guard !call.service.isDraining else { throw .draining }
        let isOptional = call.head.query.contains { $0.name == "store" && $0.value == "optional" }
        guard call.service.store.availability >= (isOptional ? .away : .partial) else {
            throw Problem(.storeUnavailable, "the store cannot be reached or refuses writes")
        }
        guard !call.service.isFull else { throw Problem(.capacity, "the connection limit is reached") }
        return Response(status: 200, text: "ready\n", fields: [Field("Cache-Control", "no-store")])
    }
}

/// The page of a problem's type: what it means, and what to do.
enum GetProblem {
    private static let style = """
        <style>
        body{font:1rem/1.5 system-ui;max-width:40rem;margin:3rem auto;padding:0 1rem;color-scheme:light dark}
        </style>
        """
    /// The same for all, since nothing else in a page is inline.
    private static let policy = PagePolicy.fields(of: Array(style.utf8))

    @Sendable
    static func answer(_ call: OpenCall) throws(Problem) -> Response {
        guard let type = ProblemType(name: call.captures["name"]) else {
            throw Problem(.routeNotFound, "no problem is called \"\(call.captures["name"])\"")
        }
        let page = """
            <!doctype html>
            <html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
            <title>\(type.title)</title>
            \(style)
            <h1>\(type.title)</h1>
            <p><code>\(type.name)</code>, status \(type.status)</p>
            <p>\(type.advice)</p>
            </html>

            """
        let fields = [Field("Content-Type", "text/html; charset=utf-8")] + policy
        return Response(status: 200, fields: fields, body: .bytes(Array(page.utf8)))
    }
}

/// The page of a list, or the operator's own, which is read for each request, so that whoever writes it sees it.
enum GetPage {
    @Sendable
    static func answer(_ call: OpenCall) throws(Problem) -> Response {
        guard let read = call.service.settings.ownPage else { return GetFile["page.html"].answer(call) }
        return GetFile(page: try read()).answer(call)
    }
}

/// A file in the binary (the playground, the page of a list, the JavaScript client, the description) or the operator's.
struct GetFile: Sendable {
    private let body: Body
    private let tag: String
    private let fields: [Field]
    /// Those of a 304, too.
    private let common: [Field]

    /// They are in the binary, whatever the limits.
    private static let memory = MemoryBudget(limit: .max)

    /// All of them, by their paths.
    private static let files = Dictionary(
        uniqueKeysWithValues: (0..<page_file_count()).map { at in
            let file = page_file_at(at)
            return (String(cString: file.name), GetFile(file))
        })

    /// What each page reads besides its scripts: the playground the address that its visitor enters, and the page of a
    /// list the pictures of its rows.
    private static let sources = [
        "index.html": "img-src data:; connect-src http: https:; ",
        "page.html": "img-src http: https: data:; connect-src 'self'; ",
    ]

    private init(_ file: page_file) {
        let bytes = Array(UnsafeBufferPointer(start: file.bytes, count: Int(file.count)))
        let name = String(cString: file.name)
        let policy = Self.sources[name].map { PagePolicy.fields(of: bytes, scripts: "'self'", others: $0) } ?? []
        let isOfClient = name.hasSuffix(".js") && !name.contains("/")
        self.init(
            name, bytes, .shared(SharedBody(bytes, in: Self.memory, isPermanent: true)),
            common: isOfClient ? [CrossOrigin.anyOrigin] : [], others: policy)
    }

    /// The operator's page. It is not shared, so that what is on its way out is counted.
    fileprivate init(page bytes: [UInt8]) { self.init("page.html", bytes, .bytes(bytes), common: [], others: []) }

    private init(_ name: String, _ bytes: [UInt8], _ body: Body, common: [Field], others: [Field]) {
        let type =
            switch name.split(separator: ".").last {
            case "html": "text/html; charset=utf-8"
            case "js": "text/javascript; charset=utf-8"
            case "json": "application/json"
            default: "text/plain; charset=utf-8"
            }
        // Not with the process's own key: a tag must survive a restart.
        tag = String(bytes.withUnsafeBytes { KeyedHash(seed: 0, 0).digest(of: $0) }, radix: 16)
        self.body = body
        self.common = [Field("ETag", "\"\(tag)\""), Field("Cache-Control", "no-cache")] + common
        fields = [Field("Content-Type", type)] + self.common + others
    }

    /// The file of a path, which must be in the binary.
    static subscript(name: String) -> GetFile {
        guard let file = files[name] else { preconditionFailure("page.c has no \(name)") }
        return file
    }

    /// One of the playground's own modules.
    @Sendable
    static func module(_ call: OpenCall) throws(Problem) -> Response {
        guard let file = files["playground/" + call.captures["file"]] else {
            throw Problem(.routeNotFound, "the playground has no file \"\(call.captures["file"])\"")
        }
        return file.answer(call)
    }

    /// The API's description; with `?profile=client` the part of it that generators of clients understand.
    @Sendable
    static func description(_ call: OpenCall) -> Response {
        let isProfile = call.head.query.contains { $0.name == "profile" && $0.value == "client" }
        return Self[isProfile ? "openapi-client.json" : "openapi.json"].answer(call)
    }

    @Sendable
    func answer(_ call: OpenCall) -> Response {
        if RevisionTags(call.head, "if-none-match")?.names(tag) == true {
            return Response(status: 304, fields: common, body: .unsent(body.count), isCompressible: true)
        }
        return Response(status: 200, fields: fields, body: body, isCompressible: true)
    }
}

// What a page of this server may load and run (Content Security Policy Level 3). Inline scripts and styles are allowed
// by their hashes, computed from the bytes sent: there is no list to maintain, and nothing injected into a page runs.

/// The policy of one page.
private enum PagePolicy {
    /// For a page with inline scripts and styles in elements, never in attributes. `scripts` are sources of others, and
    /// `others` further directives, each with its semicolon. O(bytes).
    static func fields(of page: [UInt8], scripts: String = "", others: String = "") -> [Field] {
        func sources(_ tag: String, _ more: String = "") -> String {
            let all = (more.isEmpty ? [] : [more]) + contents(of: tag, in: page).map(hash)
            return all.isEmpty ? "'none'" : all.joined(separator: " ")
        }
        return [
            Field(
                "Content-Security-Policy",
                "default-src 'none'; script-src \(sources("script", scripts)); style-src \(sources("style")); \(others)"
                    + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
            Field("Referrer-Policy", "no-referrer"),
        ]
    }

    /// The contents of all elements of a name.
    private static func contents(of tag: String, in page: [UInt8]) -> [ArraySlice<UInt8>] {
        let (start, end) = (Array("<\(tag)".utf8), Array("</\(tag)>".utf8))
        var found: [ArraySlice<UInt8>] = []
        var rest = page[...]
        while let from = firstIndex(of: start, in: rest), let open = rest[from...].firstIndex(of: UInt8(ascii: ">")),
            let to = firstIndex(of: end, in: rest[open...])
        {
            found.append(rest[(open + 1)..<to])
            rest = rest[to...].dropFirst(end.count)
        }
        return found
    }

    private static func firstIndex(of tag: [UInt8], in text: ArraySlice<UInt8>) -> Int? {
        text.indices.first { text[$0...].starts(with: tag) }
    }

    /// `'sha256-…'`.
    private static func hash(_ text: ArraySlice<UInt8>) -> String {
        "'sha256-\(Data(Digests.sha256(Array(text))).base64EncodedString())'"
    }
}
