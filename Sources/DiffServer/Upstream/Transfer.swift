import CDiffCURL
import Glibc
import HTTPCore

/// One request to another server, and what has come of it so far. Confined to the loop of its `Transfers`.
final class Transfer {
    /// What is asked for.
    struct Request {
        var url: String
        /// Sent by POST; nil for a GET.
        var body: [UInt8]?
        var fields: [Field] = []
        /// For all of it, redirects included.
        var timeout: Duration
        /// The longest answer that is taken, in bytes, inflated.
        var maxBytes: Int
        /// Whether what is beyond that is not read, and no failure.
        var isCut = false
        /// How many redirects are followed; each stays on the origin.
        var maxRedirects = 0
    }

    /// What was answered.
    struct Answer: Sendable {
        var status: Int
        var body: [UInt8]
        /// Bytes of the body on the wire.
        var received: Int
        var etag, lastModified, cacheControl, age: String?
        /// Seconds (RFC 9110 §10.2.3); nil where nothing is said.
        var retryAfter: Int?
        /// Counts the body for as long as somebody holds this.
        var share: MemoryShare
    }

    /// Why there is no answer, for an operator.
    struct Failure: Error, Sendable {
        var reason: String
    }

    typealias Completion = (Result<Answer, Failure>) -> Void

    let easy: UnsafeMutableRawPointer
    let request: Request
    let done: Completion
    /// When it has to be over.
    let deadline: Instant
    private let redirects: Int
    private var fields: UnsafeMutablePointer<curl_slist>?
    private let error = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    private var body: [UInt8] = []
    /// Counts the body while it comes.
    private let share: MemoryShare
    /// Why nothing more of the body was taken.
    private var obstacle: String?
    /// Whether there was more than was wanted.
    private var isCut = false

    init(
        _ request: Request, redirects: Int = 0, until deadline: Instant, share: MemoryShare,
        _ done: @escaping Completion
    ) {
        guard let easy = curl_easy_init() else { preconditionFailure("libcurl has no memory") }
        (self.easy, self.request, self.redirects, self.deadline) = (easy, request, redirects, deadline)
        (self.share, self.done) = (share, done)
        error[0] = 0
        configure()
    }

    deinit {
        curl_easy_cleanup(easy)
        curl_slist_free_all(fields)
        error.deallocate()
    }

    private func configure() {
        set(CURLOPT_URL, request.url)
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_USERAGENT, "diffserver/\(Version.text)")
        // All encodings that libcurl can undo.
        set(CURLOPT_ACCEPT_ENCODING, "")
        set(CURLOPT_NOSIGNAL, 1)
        // Else a name that is being resolved holds up whoever gives it up.
        set(CURLOPT_QUICK_EXIT, 1)
        set(CURLOPT_TIMEOUT_MS, max(1, Int((deadline - .now) / .milliseconds(1))))
        set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        if !request.isCut { cdiff_curl_set_size(easy, CURLOPT_MAXFILESIZE_LARGE, curl_off_t(request.maxBytes)) }
        cdiff_curl_set_pointer(easy, CURLOPT_ERRORBUFFER, error)
        if let file = Self.certificates { set(CURLOPT_CAINFO, file) }
        for field in request.fields {
            fields = curl_slist_append(fields, field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)")
        }
        if let body = request.body {
            set(CURLOPT_POST, 1)
            set(CURLOPT_POSTFIELDSIZE, body.count)
            body.withUnsafeBytes {
                _ = cdiff_curl_set_pointer(
                    easy, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: $0.baseAddress))
            }
            // An answer to `100-continue` would be waited for.
            fields = curl_slist_append(fields, "Expect:")
        }
        if let fields { cdiff_curl_set_pointer(easy, CURLOPT_HTTPHEADER, fields) }
        cdiff_curl_on_write(
            easy, { Unmanaged<Transfer>.fromOpaque($3!).takeUnretainedValue().take($0, $1 * $2) },
            Unmanaged.passUnretained(self).toOpaque())
    }

    /// Who is trusted besides the system's authorities, by the variable that OpenSSL's own tools know.
    private static let certificates = getenv("SSL_CERT_FILE").map { String(cString: $0) }

    private func set(_ option: CURLoption, _ value: String) { cdiff_curl_set_text(easy, option, value) }
    private func set(_ option: CURLoption, _ value: Int) { cdiff_curl_set_number(easy, option, value) }

    /// Takes bytes of the body; as many as there are, or none to end the transfer.
    private func take(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        let length = body.count + count
        guard length <= request.maxBytes else {
            if request.isCut { isCut = true } else { obstacle = Self.tooLong(request.maxBytes) }
            return 0
        }
        if length > body.capacity {
            let capacity = max(length, min(2 * body.capacity, request.maxBytes), 16 * 1024)
            guard share.resize(to: capacity) else {
                obstacle = "no memory left for its answer"
                return 0
            }
            body.reserveCapacity(capacity)
        }
        body.append(contentsOf: UnsafeRawBufferPointer(start: bytes, count: count))
        return count
    }

    private static func tooLong(_ limit: Int) -> String { "the answer has more than \(limit) bytes" }

    // MARK: What came of it

    /// What has to be asked next, or what came of it.
    enum Ending {
        case redirected(Transfer)
        case done(Result<Answer, Failure>)
    }

    func ending(_ code: CURLcode) -> Ending {
        if let obstacle { return .done(.failure(Failure(reason: obstacle))) }
        guard code == CURLE_OK || isCut else {
            if code == CURLE_FILESIZE_EXCEEDED {
                return .done(.failure(Failure(reason: Self.tooLong(request.maxBytes))))
            }
            let detail = String(cString: error)
            return .done(.failure(Failure(reason: detail.isEmpty ? String(cString: curl_easy_strerror(code)) : detail)))
        }
        let status = cdiff_curl_number(easy, CURLINFO_RESPONSE_CODE)
        if request.maxRedirects > 0, [301, 302, 303, 307, 308].contains(status),
            let target = cdiff_curl_text(easy, CURLINFO_REDIRECT_URL)
        {
            return redirected(to: String(cString: target))
        }
        let retryAfter = Int(cdiff_curl_size(easy, CURLINFO_RETRY_AFTER))
        return .done(
            .success(
                Answer(
                    status: status, body: exchange(&body, with: []),
                    received: Int(cdiff_curl_size(easy, CURLINFO_SIZE_DOWNLOAD_T)),
                    etag: value(of: "ETag"), lastModified: value(of: "Last-Modified"),
                    cacheControl: value(of: "Cache-Control"), age: value(of: "Age"),
                    retryAfter: retryAfter > 0 ? retryAfter : nil, share: share)))
    }

    private func redirected(to url: String) -> Ending {
        guard redirects < request.maxRedirects else {
            return .done(.failure(Failure(reason: "it redirects more than \(request.maxRedirects) times")))
        }
        guard let origin = Origin(url), origin == Origin(request.url) else {
            return .done(.failure(Failure(reason: "it redirects to another origin")))
        }
        var next = request
        next.url = url
        _ = share.resize(to: 0)
        return .redirected(Transfer(next, redirects: redirects + 1, until: deadline, share: share, done))
    }

    /// All values of a field, as one.
    private func value(of name: String) -> String? {
        var header: UnsafeMutablePointer<curl_header>?
        var values: [String] = []
        while curl_easy_header(easy, name, values.count, UInt32(CURLH_HEADER), -1, &header) == CURLHE_OK,
            let found = header
        {
            values.append(String(cString: found.pointee.value))
        }
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }
}

/// Scheme, host and port of a URL (RFC 6454), as libcurl reads it.
private struct Origin: Equatable {
    private let parts: [String]

    init?(_ url: String) {
        guard let handle = curl_url() else { return nil }
        defer { curl_url_cleanup(handle) }
        guard curl_url_set(handle, CURLUPART_URL, url, 0) == CURLUE_OK else { return nil }
        var parts: [String] = []
        for part in [CURLUPART_SCHEME, CURLUPART_HOST, CURLUPART_PORT] {
            var text: UnsafeMutablePointer<CChar>?
            guard curl_url_get(handle, part, &text, UInt32(CURLU_DEFAULT_PORT)) == CURLUE_OK, let text else {
                return nil
            }
            parts.append(String(cString: text).lowercased())
            curl_free(text)
        }
        self.parts = parts
    }
}
