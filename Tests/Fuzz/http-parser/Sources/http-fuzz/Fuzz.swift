@testable import HTTPCore

/// Called by libFuzzer with every input. The first octet's place chooses the target: head and chunks as one stream, or
/// a query.
///
/// The property of the stream: reading it whole, octet by octet, and cut at a place that the input itself chooses comes
/// to the same messages, bodies and refusal. The property of a query: what is decoded holds no NUL, and encoding it
/// again and decoding that gives it back.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ base: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeBufferPointer(start: base, count: count)
    guard let first = input.first else { return 0 }
    let rest = Array(input.dropFirst())
    if first & 1 == 0 { fuzzStream(rest, cut: Int(first) % max(1, rest.count)) } else { fuzzQuery(rest) }
    return 0
}

private func fuzzStream(_ bytes: [UInt8], cut: Int) {
    let whole = reading(bytes, cuts: [])
    precondition(whole == reading(bytes, cuts: Array(0..<bytes.count)), "octet by octet reads differently")
    precondition(whole == reading(bytes, cuts: [cut]), "cut at \(cut) reads differently")
}

private func fuzzQuery(_ bytes: [UInt8]) {
    guard bytes.allSatisfy({ OctetSet.uri.contains($0) || $0 == UInt8(ascii: "%") }) else { return }
    let text = String(decoding: bytes, as: UTF8.self)
    guard let head = try? RequestHead(parsing: "GET /\(text) HTTP/1.1\r\nHost: a\r\n\r\n") else { return }
    for text in head.path + head.query.flatMap({ [$0.name, $0.value] }) {
        precondition(!text.utf8.contains(0), "a NUL was decoded")
        let encoded = text.utf8.flatMap { [UInt8(ascii: "%"), hex($0 >> 4), hex($0 & 15)] }
        precondition(encoded.withUnsafeBytes { Percent.decoded($0) } == text, "decoding is not the inverse of encoding")
    }
}

private func hex(_ digit: UInt8) -> UInt8 { digit < 10 ? 0x30 + digit : 0x37 + digit }

/// The messages of a stream, each on a line, and its refusal.
private func reading(_ bytes: [UInt8], cuts: [Int]) -> [String] {
    var lines: [String] = []
    var parser = RequestParser(limits: MessageLimits())
    var decoder: BodyDecoder?
    var start = 0
    for end in cuts + [bytes.count] {
        while true {
            let given = Array(bytes[start..<end])
            if var body = decoder {
                let step = given.withUnsafeBytes { body.step($0) }
                decoder = body
                switch step {
                case .more(let consumed, let content):
                    lines[lines.count - 1] += given[content].map { "\($0)," }.joined()
                    start += consumed
                case .end(let consumed, let content):
                    lines[lines.count - 1] += given[content].map { "\($0)," }.joined() + "end"
                    start += consumed
                    decoder = nil
                    continue
                case .refused(let refusal): return lines + ["\(refusal)"]
                }
                if start == end { break }
            } else {
                let progress = given.withUnsafeBytes { parser.parse($0) }
                guard case .complete(let head, let consumed) = progress else {
                    if case .refused(let refusal) = progress { return lines + ["\(refusal)"] }
                    break
                }
                lines.append("\(head.method.name) \(head.target) \(head.path) \(head.query) \(head.keepsAlive) ")
                start += consumed
                parser = RequestParser(limits: MessageLimits())
                decoder = head.bodyLength == .none ? nil : BodyDecoder(head.bodyLength, limits: MessageLimits())
            }
        }
    }
    return lines
}
