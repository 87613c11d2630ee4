// What a page of this server may load and run (Content Security Policy Level 3). Its own scripts and styles stand in
// the page and are named by their hashes, which are taken from the bytes that are sent: no list that somebody has to
// keep, and nothing that was smuggled into a page runs.

import FoundationEssentials
import HTTPCore

/// The policy of one page.
struct PagePolicy: Sendable {
    /// What goes with the page.
    let fields: [Field]

    /// - Parameters:
    ///   - page: HTML whose inline scripts and styles have tags of their own, never attributes; O(bytes).
    ///   - scripts: which scripts it may load besides.
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

    /// What stands between the tags of a name, with or without attributes.
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

    /// Where a tag stands, which is where a `<` is followed by the rest of it.
    private static func place(of tag: [UInt8], in text: ArraySlice<UInt8>) -> Int? {
        var rest = text
        while let at = rest.firstIndex(of: UInt8(ascii: "<")) {
            if text[at...].starts(with: tag) { return at }
            rest = text[(at + 1)...]
        }
        return nil
    }

    /// `'sha256-…'`.
    private static func hash(_ text: ArraySlice<UInt8>) -> String {
        "'sha256-\(Data(Digests.sha256(Array(text))).base64EncodedString())'"
    }
}
