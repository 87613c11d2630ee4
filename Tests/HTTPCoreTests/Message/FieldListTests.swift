import HTTPCore
import Testing

@Suite struct FieldListTests {
    private func head(_ fields: String) throws -> RequestHead {
        try RequestHead(parsing: "GET / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n")
    }

    @Test(
        "elements of all lines, trimmed; commas in quotes belong to their element",
        arguments: [
            ("If-Match: \"a\"\r\n", ["\"a\""]),
            ("If-Match: \"a\" , W/\"b\",\t\"c\"\r\n", ["\"a\"", "W/\"b\"", "\"c\""]),
            ("If-Match: \"a,b\", \"c\"\r\n", ["\"a,b\"", "\"c\""]),
            ("If-Match: \"a\"\r\nX: y\r\nif-match: \"b\"\r\n", ["\"a\"", "\"b\""]),
            ("If-Match: ,, ,\"a\",\r\n", ["\"a\""]),
            ("If-Match: \"a, b\r\n", ["\"a, b"]),
            ("If-Match: \"a\\\", \"b\"\r\n", ["\"a\\\"", "\"b\""]),
            ("If-Match:\r\n", []),
            ("", []),
        ])
    func elements(fields: String, expected: [String]) throws {
        #expect(try head(fields).list("if-match") == expected)
    }

    @Test(
        "a hundred elements are read, of one line or of several; a list of more is overlong",
        arguments: [
            "accept", "accept-encoding", "prefer", "if-match", "if-none-match",
        ])
    func overlong(name: String) throws {
        let list = { (count: Int) in Array(repeating: "a", count: count).joined(separator: ",") }
        #expect(try head("\(name): \(list(100))\r\n").overlongList == nil)
        #expect(try head("\(name): \(list(100))\r\n").list(name).count == 100)
        let cases = ["\(name): \(list(101))\r\n", "\(name): \(String(repeating: ",", count: 9_000))\r\n"]
        for fields in cases {
            #expect(try head(fields).overlongList == name)
            #expect(try head(fields).list(name).count <= 100)
        }
        #expect(try head("\(name): \(list(60))\r\n\(name): \(list(60))\r\n").list(name).count == 100)
        #expect(try head("x-\(name): \(list(101))\r\n").overlongList == nil)
    }
}
