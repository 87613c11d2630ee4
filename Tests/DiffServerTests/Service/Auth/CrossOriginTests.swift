import Testing

@testable import DiffService

@Suite struct CrossOriginTests {
    @Test(arguments: [
        ("https://example.org", true), ("http://example.org", true), ("http://localhost:3000", true),
        ("https://example.org:8443", true),
        ("http://127.0.0.1:1", true), ("http://[::1]:3000", true), ("http://[::1]", true),
        ("https://xn--bcher-kva.example", true),
        ("http://example.org:443", true), ("https://example.org:80", true),
        // Browsers write none of these.
        ("https://example.org/", false), ("https://example.org/a", false), ("https://example.org ", false),
        (" https://example.org", false),
        ("https://Example.org", false), ("HTTPS://example.org", false), ("https://example.org:443", false),
        ("http://example.org:80", false),
        ("http://example.org:080", false), ("http://example.org:", false), ("http://example.org:65536", false),
        ("http://a:b", false),
        ("https://bücher.example", false), ("https://a@example.org", false), ("https://", false), ("https:///", false),
        ("https:", false),
        ("https", false), ("", false), ("null", false), ("*", false), ("https://*.example.org", false),
        ("ftp://example.org", false),
        ("http://[]", false), ("http://[::1", false), ("http://::1", false), ("https://example.org?a", false),
    ])
    func `an origin is one as browsers write it`(_ text: String, _ isOrigin: Bool) {
        #expect(CrossOrigin.isOrigin(text) == isOrigin)
    }
}
