// What a page of this server may load and run (Content Security Policy Level 3). Inline scripts and styles are allowed
// by their hashes, which are computed from the bytes that are sent: there is no list to maintain, and nothing that is
// injected into a page runs.

import FoundationEssentials
import HTTPCore

/// The policy of one page.
struct PagePolicy: Sendable {
    let fields: [Field]

    /// - Parameters:
    ///   - page: HTML with inline scripts and styles in elements, never in attributes. O(bytes).
    ///   - scripts: sources of other scripts.
    ///   - others: further directives, each with its semicolon.
    init(of page: [UInt8], scripts: String = "", others: String = "") {
        func sources(_ tag: String, _ more: String = "") -> String {
            let all = [more] + Self.contents(of: tag, in: page).map(Self.hash)
            let some = all.filter { !$0.isEmpty }
            return some.isEmpty ? "'none'" : some.joined(separator: " ")
        }
        fields = [
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
        while let from = place(of: start, in: rest), let open = rest[from...].firstIndex(of: UInt8(ascii: ">")),
            let to = place(of: end, in: rest[open...])
        {
            found.append(rest[(open + 1)..<to])
            rest = rest[to...].dropFirst(end.count)
        }
        return found
    }

    private static func place(of tag: [UInt8], in text: ArraySlice<UInt8>) -> Int? {
        text.indices.first { text[$0...].starts(with: tag) }
    }

    /// `'sha256-…'`.
    private static func hash(_ text: ArraySlice<UInt8>) -> String {
        "'sha256-\(Data(Digests.sha256(Array(text))).base64EncodedString())'"
    }
}
