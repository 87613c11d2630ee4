@testable import HTTPCore

/// The meaning of a byte stream of requests, in a form that tests compare: one line per message, the refusal last.
struct ParsedStream: Equatable, CustomStringConvertible {
    var messages: [String] = []
    var refusal: Refusal?
    var isWithinMessage = false

    var description: String {
        (messages + [refusal.map { "\($0)" }, isWithinMessage ? "…" : nil].compactMap { $0 }).joined(separator: " | ")
    }

    /// Reads `bytes` in pieces that end at `cuts`, as a connection does: unconsumed bytes are offered again.
    init(_ bytes: [UInt8], cuts: [Int] = [], limits: MessageLimits = MessageLimits()) {
        var parser = RequestParser(limits: limits)
        var decoder: BodyDecoder?
        var line = ""
        var body: [UInt8] = []
        var start = 0
        for end in cuts + [bytes.count] where refusal == nil {
            var needsRead = false
            while !needsRead, refusal == nil {
                let given = Array(bytes[start..<end])  // moved each time, so that a kept pointer would show
                given.withUnsafeBytes { input in
                    guard var current = decoder else {
                        switch parser.parse(input) {
                        case .incomplete: needsRead = true
                        case .refused(let refusal): self.refusal = refusal
                        case .complete(let head, let consumed):
                            start += consumed
                            parser.restart()
                            line = "\(head.method.name) \(head.target)"
                            if head.bodyLength == .none {
                                messages.append(line)
                            } else {
                                decoder = BodyDecoder(head.bodyLength, limits: limits)
                                body = []
                            }
                        }
                        return
                    }
                    let step = current.step(input)
                    decoder = current
                    switch step {
                    case .more(let consumed, let content):
                        body += input[content]
                        start += consumed
                        needsRead = start == end
                    case .end(let consumed, let content):
                        body += input[content]
                        start += consumed
                        decoder = nil
                        messages.append("\(line) \(String(decoding: body, as: UTF8.self))")
                    case .refused(let refusal): self.refusal = refusal
                    }
                }
            }
        }
        isWithinMessage = refusal == nil && (decoder != nil || parser.isWithinHead)
    }

    init(_ text: String, limits: MessageLimits = MessageLimits()) {
        self.init(Array(text.utf8), limits: limits)
    }
}

extension Array where Element == UInt8 {
    /// The readings of the bytes however they are cut: whole, at every single index, and octet by octet.
    func parsedAtEverySplit(limits: MessageLimits = MessageLimits()) -> [ParsedStream] {
        [ParsedStream(self, limits: limits), ParsedStream(self, cuts: Swift.Array(0..<count), limits: limits)]
            + (0..<count).map { ParsedStream(self, cuts: [$0], limits: limits) }
    }
}
