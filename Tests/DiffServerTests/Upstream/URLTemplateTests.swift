import Testing

@testable import DiffUpstream

@Suite struct URLTemplateTests {
    @Test(
        arguments: [
            ("https://api.example/users/{user}/orders", ["user": "7"], "https://api.example/users/7/orders"),
            ("HTTP://127.0.0.1:9000", [:], "HTTP://127.0.0.1:9000/"), ("http://h?a={b}", ["b": "x"], "http://h/?a=x"),
            ("http://[::1]:9000/{a}", ["a": "x"], "http://[::1]:9000/x"), ("http://h/{a}", ["a": "x"], "http://h/x"),
            ("http://h/{a}?b={a}&c={d}", ["a": "1", "d": "2"], "http://h/1?b=1&c=2"),
            ("http://h/a;b=c/@:!$&'()*+,?d=e=/?", [:], "http://h/a;b=c/@:!$&'()*+,?d=e=/?"),
            ("http://h/%41%2f%C3%A9//", [:], "http://h/%41%2f%C3%A9//"), ("http://h/...", [:], "http://h/..."),
            // A client's text stays one segment or one value, whatever it contains.
            ("http://h/{a}", ["a": "x/../y"], "http://h/x%2F..%2Fy"), ("http://h/{a}", ["a": "%2f"], "http://h/%252f"),
            ("http://h/{a}", ["a": "%2e%2e"], "http://h/%252e%252e"), ("http://h/{a}", ["a": "..."], "http://h/..."),
            ("http://h/{a}", ["a": "u@v"], "http://h/u%40v"), ("http://h/{a}", ["a": "u:v"], "http://h/u%3Av"),
            ("http://h/{a}", ["a": "é 😀"], "http://h/%C3%A9%20%F0%9F%98%80"),
            ("http://h/{a}", ["a": "\u{0}\r\n"], "http://h/%00%0D%0A"),
            ("http://h/?a={a}&b=c", ["a": "x&b=d#e?"], "http://h/?a=x%26b%3Dd%23e%3F&b=c"),
            ("http://h/{a}", ["a": "{b}", "b": "x"], "http://h/%7Bb%7D"),
            ("http://h/{a}", ["a": "Az09-._~"], "http://h/Az09-._~"),
        ])
    func `segments are filled in and stay what they are`(
        _ text: String, _ segments: [String: String], _ url: String
    ) throws {
        #expect(try URLTemplate(text).url(segments) == url)
    }

    @Test(
        arguments: [
            ("", .scheme), ("h/a", .scheme), ("//h/a", .scheme), ("ftp://h/a", .scheme),
            ("file:///etc/passwd", .scheme),
            ("http:/h", .scheme), ("{a}://h", .scheme), (" http://h", .scheme),
            ("http://u@h/", .userInfo), ("http://u:p@h/", .userInfo), ("http://h@/", .userInfo),
            ("http://{a}/", .segmentInAuthority), ("http://{a}.example/b", .segmentInAuthority),
            ("http://h:{a}/", .segmentInAuthority), ("http://h{a}", .segmentInAuthority),
            ("http:///a", .host), ("http://", .host), ("http://h:x/", .host), ("http://h:65536/", .host),
            ("http://a b/", .host), ("http://h\\@i/", .userInfo), ("http://h\\i/", .host), ("http://[::1/", .host),
            ("http://2130706433/", .host), ("http://0x7f.1/", .host), ("http://é/", .host),
            ("http://h/#a", .fragment), ("http://h#a", .fragment), ("http://h/?a#", .fragment),
            ("http://h/{a}#", .partOfSegment),
            ("http://h/a b", .character), ("http://h/é", .character), ("http://h/\u{0}", .character),
            ("http://h/a\\b", .character),
            ("http://h/a}", .character), ("http://h/?a=\"b\"", .character), ("http://h/\r\nX: y", .character),
            ("http://h/%", .escape), ("http://h/%4", .escape), ("http://h/%4g", .escape), ("http://h/%{a}", .escape),
            ("http://h/.", .dots), ("http://h/..", .dots), ("http://h/a/../b", .dots), ("http://h/./b?c", .dots),
            ("http://h/a/%2E%2e/b", .dots), ("http://h/.%2e?a", .dots), ("http://h/..?a", .dots),
            ("http://h/{a", .openBrace), ("http://h/{}", .segmentName), ("http://h/{a/b}", .segmentName),
            ("http://h/x{a}", .partOfSegment), ("http://h/{a}x", .partOfSegment), ("http://h/{a}{b}", .partOfSegment),
            ("http://h/{a}.json", .partOfSegment), ("http://h/.{a}", .partOfSegment), ("http://h?{a}", .partOfSegment),
            ("http://h?{a}=b", .partOfSegment), ("http://h/?a=b{c}", .partOfSegment),
            ("http://h/?a={b}c", .partOfSegment),
            ("http://h/?a=b={c}", .partOfSegment), ("http://h/?a={b}/c", .partOfSegment),
            ("http://h/?a=b&{c}", .partOfSegment),
        ] as [(String, URLTemplate.Failure)])
    func `what could mean another place is no URL`(_ text: String, _ failure: URLTemplate.Failure) {
        #expect(throws: failure) { try URLTemplate(text) }
    }

    /// A session's name changes neither the authority nor the number of path segments.
    @Test func `no name leads to another place`() throws {
        let name = try NamePattern("{a}:{b}")
        let url = try URLTemplate("https://h.example/x/{a}/y?z={b}")
        var random = SplitMix64(seed: 11)
        let letters = Array("aZ09._~-:/?#%@&={}\\é\u{0}".unicodeScalars)
        for _ in 0..<20_000 {
            let scalars = (0..<Int.random(in: 1...12, using: &random)).map { _ in letters.randomElement(using: &random)!
            }
            guard let segments = name.match(String(String.UnicodeScalarView(scalars))) else { continue }
            let filled = url.url(segments)
            #expect(filled.hasPrefix("https://h.example/x/"))
            let parts = filled.split(separator: "/", omittingEmptySubsequences: false)
            #expect(parts.count == 6 && parts[4] != "." && parts[4] != ".." && parts[5].hasPrefix("y?z="), "\(filled)")
        }
    }
}
