import CDiffCURL
import CDiffSystem
import DiffService
import DiffStores
import HTTPCore

/// A request to another server, and its answer so far. Confined to the loop of its `Transfers`.
package final class Transfer {
    package struct Request {
        var url: String
        /// The body of a POST; nil for a GET.
        var body: [UInt8]?
        var fields: [RequestHeader] = []
        /// The time limit of the whole request, including redirects.
        var timeout: Duration
        /// The size limit of the answer's body in bytes, inflated.
        var maxBytes: Int
        /// Whether a longer body is truncated to `maxBytes` rather than failing the request.
        var isCut = false
        /// The most redirects to follow, all within the same origin.
        var maxRedirects = 0
    }

    package struct Answer: Sendable {
        package var status: Int
        package var body: [UInt8]
        /// Bytes of the body on the wire.
        var received: Int
        var etag, lastModified, cacheControl, age: String?
        /// The value of Retry-After in seconds (RFC 9110 §10.2.3).
        var retryAfter: Int?
        /// Charges the body's memory.
        var share: MemoryShare
    }

    /// Why there is no answer, in words for an operator.
    package struct Failure: Error, Sendable {
        package var reason: String

        package init(reason: String) { self.reason = reason }
    }

    package typealias Completion = (Result<Answer, Failure>) -> Void

    let easy: UnsafeMutableRawPointer
    let request: Request
    let done: Completion
    let deadline: Instant
    private let redirects: Int
    private var fields: UnsafeMutablePointer<curl_slist>?
    private let error = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    private var heads = AnswerHeads()
    private var body: [UInt8] = []
    /// Inflates a compressed body, once it has begun.
    private var inflater: Inflater?
    private let share: MemoryShare
    /// Why the rest of the answer was refused.
    private var rejection: String?
    /// Whether the body was truncated to the limit.
    private var isCut = false

    init(
        _ request: Request, redirects: Int = 0, until deadline: Instant, share: MemoryShare,
        _ done: @escaping Completion
    ) {
        guard let easy = curl.easy_init() else { preconditionFailure("libcurl has no memory") }
        (self.easy, self.request, self.redirects, self.deadline) = (easy, request, redirects, deadline)
        (self.share, self.done) = (share, done)
        error[0] = 0
        configure()
    }

    deinit {
        curl.easy_cleanup(easy)
        curl.slist_free_all(fields)
        error.deallocate()
    }

    private func configure() {
        set(CURLOPT_URL, request.url)
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_USERAGENT, "diffserver/\(Version.text)")
        set(CURLOPT_NOSIGNAL, 1)
        // Otherwise cleaning up would wait for a name that is still being resolved.
        set(CURLOPT_QUICK_EXIT, 1)
        set(CURLOPT_TIMEOUT_MS, max(1, Int((deadline - .now) / .milliseconds(1))))
        set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        if !request.isCut { cdiff_curl_set_size(curl, easy, CURLOPT_MAXFILESIZE_LARGE, curl_off_t(request.maxBytes)) }
        cdiff_curl_set_pointer(curl, easy, CURLOPT_ERRORBUFFER, error)
        if let file = SystemAuthorities.file { set(CURLOPT_CAINFO, file) }
        fields = curl.slist_append(fields, "Accept-Encoding: \(AnswerHeads.coding)")
        for field in request.fields {
            fields = curl.slist_append(fields, field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)")
        }
        if let body = request.body {
            set(CURLOPT_POST, 1)
            set(CURLOPT_POSTFIELDSIZE, body.count)
            body.withUnsafeBytes {
                _ = cdiff_curl_set_pointer(
                    curl, easy, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: $0.baseAddress))
            }
            // libcurl would wait for an answer to `100-continue`.
            fields = curl.slist_append(fields, "Expect:")
        }
        cdiff_curl_set_pointer(curl, easy, CURLOPT_HTTPHEADER, fields)
        cdiff_curl_on_write(
            curl, easy, { Unmanaged<Transfer>.fromOpaque($3!).takeUnretainedValue().take($0, $1 * $2) },
            Unmanaged.passUnretained(self).toOpaque())
        cdiff_curl_on_header(
            curl, easy, { Unmanaged<Transfer>.fromOpaque($3!).takeUnretainedValue().takeLine($0, $1 * $2) },
            Unmanaged.passUnretained(self).toOpaque())
    }

    private func set(_ option: CURLoption, _ value: String) { cdiff_curl_set_text(curl, easy, option, value) }
    private func set(_ option: CURLoption, _ value: Int) { cdiff_curl_set_number(curl, easy, option, value) }

    private func takeLine(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        rejection = rejection ?? heads.take(UnsafeRawBufferPointer(start: bytes, count: count))
        return rejection == nil ? count : 0
    }

    /// Takes the body as sent: libcurl could inflate it, but would not say how long it was. 0 ends the transfer.
    private func take(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        let sent = UnsafeRawBufferPointer(start: bytes, count: count)
        guard heads.isCompressed else { return append(sent) ? count : 0 }
        if inflater == nil { inflater = Inflater() }
        switch inflater?.inflate(sent, append) {
        case .more?: return count
        case .tooLarge?, nil: return 0
        case .tooDense?: rejection = "the answer inflates to more than \(Inflater.maxRatio) times what was sent"
        case .malformed?: rejection = Self.malformed
        }
        return 0
    }

    private func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let length = body.count + bytes.count
        guard length <= request.maxBytes else {
            if request.isCut { isCut = true } else { rejection = Self.tooLong(request.maxBytes) }
            return false
        }
        if length > body.capacity {
            let room = [2 * body.capacity, body.capacity + (1 << 20)].map {
                max(length, min($0, request.maxBytes), 16 * 1024)
            }
            guard let capacity = room.first(where: hold) else {
                rejection = "no memory left for its answer"
                return false
            }
            body.reserveCapacity(capacity)
        }
        body.append(contentsOf: bytes)
        return true
    }

    /// Reserves memory. Long answers leave an eighth of the budget free, so that one source does not starve all others.
    private func hold(_ bytes: Int) -> Bool { share.resize(to: bytes, sparing: bytes > Self.small ? 8 : 0) }

    /// Answers up to this many bytes need not leave memory free.
    private static let small = 32 * 1024

    private static let malformed = "its body is not gzip"

    private static func tooLong(_ limit: Int) -> String { "the answer has more than \(limit) bytes" }

    // MARK: The end

    enum Ending {
        case redirected(Transfer)
        case done(Result<Answer, Failure>)
    }

    func ending(_ code: CURLcode) -> Ending {
        if let rejection { return failed(rejection) }
        guard code == CURLE_OK || isCut else {
            if code == CURLE_FILESIZE_EXCEEDED { return failed(Self.tooLong(request.maxBytes)) }
            let detail = String(cString: error)
            return failed(detail.isEmpty ? String(cString: curl.easy_strerror(code)!) : detail)
        }
        if let inflater, !inflater.isComplete, !isCut { return failed(Self.malformed) }
        let status = cdiff_curl_number(curl, easy, CURLINFO_RESPONSE_CODE)
        if request.maxRedirects > 0, [301, 302, 303, 307, 308].contains(status),
            let target = cdiff_curl_text(curl, easy, CURLINFO_REDIRECT_URL)
        {
            return redirected(to: String(cString: target))
        }
        let retryAfter = Int(cdiff_curl_size(curl, easy, CURLINFO_RETRY_AFTER))
        return .done(
            .success(
                Answer(
                    status: status, body: exchange(&body, with: []),
                    received: Int(cdiff_curl_size(curl, easy, CURLINFO_SIZE_DOWNLOAD_T)),
                    etag: value(of: "ETag"), lastModified: value(of: "Last-Modified"),
                    cacheControl: value(of: "Cache-Control"), age: value(of: "Age"),
                    retryAfter: retryAfter > 0 ? retryAfter : nil, share: share)))
    }

    private func redirected(to url: String) -> Ending {
        guard redirects < request.maxRedirects else {
            return failed("it redirects more than \(request.maxRedirects) times")
        }
        guard let origin = Origin(url), origin == Origin(request.url) else {
            return failed("it redirects to another origin")
        }
        var next = request
        next.url = url
        _ = share.resize(to: 0)
        return .redirected(Transfer(next, redirects: redirects + 1, until: deadline, share: share, done))
    }

    private func failed(_ reason: String) -> Ending { .done(.failure(Failure(reason: reason))) }

    /// All values of a field, joined by commas.
    private func value(of name: String) -> String? {
        var header: UnsafeMutablePointer<curl_header>?
        var values: [String] = []
        while curl.easy_header(easy, name, values.count, UInt32(CURLH_HEADER), -1, &header) == CURLHE_OK,
            let found = header
        {
            values.append(String(cString: found.pointee.value))
        }
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }
}

/// The scheme, host and port of a URL (RFC 6454), as parsed by libcurl.
private struct Origin: Equatable {
    private let parts: [String]

    init?(_ url: String) {
        guard let handle = curl.url() else { return nil }
        defer { curl.url_cleanup(handle) }
        guard curl.url_set(handle, CURLUPART_URL, url, 0) == CURLUE_OK else { return nil }
        var parts: [String] = []
        for part in [CURLUPART_SCHEME, CURLUPART_HOST, CURLUPART_PORT] {
            var text: UnsafeMutablePointer<CChar>?
            guard curl.url_get(handle, part, &text, UInt32(CURLU_DEFAULT_PORT)) == CURLUE_OK, let text else {
                return nil
            }
            parts.append(String(cString: text).lowercased())
            curl.free(text)
        }
        self.parts = parts
    }
}

// MARK: - Heads

/// Limits the heads of an answer: its own, those of interim answers before it, and its trailers. libcurl keeps them
/// all, searches all for each field, and decodes as many nested transfer codings as they name: 3 KB compressed three
/// times can expand to 200 MB on the way, yet end in nothing that a body limit counts.
struct AnswerHeads: Equatable {
    private var bytes = 0
    private var fields = 0
    /// Codings of the body.
    private var codings = 0

    static let maxBytes = 64 * 1024
    static let maxFields = 256
    /// The coding requested, and the only one decoded. Its decoder takes at most 40 KB.
    static let coding = "gzip"

    var isCompressed: Bool { codings > 0 }

    /// - Returns: why the rest of the answer is refused; nil if it is not.
    mutating func take(_ line: some Collection<UInt8>) -> String? {
        bytes += line.count
        fields += 1
        guard bytes <= Self.maxBytes, fields <= Self.maxFields else {
            return "its headers have more than \(Self.maxBytes) bytes or \(Self.maxFields) lines"
        }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
        guard name == "content-encoding" || name == "transfer-encoding" else { return nil }
        let value = String(decoding: line[line.index(after: colon)...], as: UTF8.self).lowercased()
        for coding in value.split(whereSeparator: { ", \t\r\n".contains($0) }) {
            switch coding {
            case "identity", "chunked": break
            case Self.coding, "x-gzip":
                guard name == "content-encoding" else { return Self.unasked }
                codings += 1
            default: return Self.unasked
            }
        }
        return codings > 1 ? "its body is compressed more than once" : nil
    }

    private static let unasked = "its body has a coding that was not asked for"
}
