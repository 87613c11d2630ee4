import SnapshotKit
import Testing

/// The library's verdict on a text as JSON; whether it is a state is another question.
enum ScannerVerdict: Equatable, CustomStringConvertible {
    case json
    case refused(JSONError.Reason, Int)

    init(_ text: [UInt8]) {
        self = .json
        do {
            _ = try Snapshot(json: text)
        } catch {
            if case .json(let error) = error { self = .refused(error.reason, error.offset) }
        }
    }

    var description: String {
        switch self {
        case .json: "JSON"
        case .refused(let reason, let offset): "\(reason) at \(offset)"
        }
    }
}

/// One row of a table: a text, and where it ceases to be JSON.
struct ScannerCase: Sendable, CustomTestStringConvertible {
    let text: [UInt8]
    let reason: JSONError.Reason?
    let offset: Int

    init(_ text: String) {
        self.text = Array(text.utf8)
        (reason, offset) = (nil, 0)
    }

    init(_ text: String, _ reason: JSONError.Reason, at offset: Int) {
        self.init(bytes: Array(text.utf8), reason, at: offset)
    }

    init(bytes: [UInt8], _ reason: JSONError.Reason, at offset: Int) {
        self.text = bytes
        self.reason = reason
        self.offset = offset
    }

    var expected: ScannerVerdict { reason.map { .refused($0, offset) } ?? .json }
    var testDescription: String { String(decoding: text.prefix(60), as: UTF8.self).debugDescription }
}
