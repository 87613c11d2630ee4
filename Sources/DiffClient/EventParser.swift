import Foundation

/// Parses server-sent events (HTML Living Standard §9.2) from pieces that may break anywhere.
struct EventParser {
    /// An event of a stream.
    enum Event: Sendable, Equatable {
        /// An answer, as JSON.
        case changes([UInt8])
        /// The reader has this revision now, but nothing that it shows has changed.
        case revision(String)
        /// Why the stream ends, as a problem in JSON.
        case end([UInt8])
    }

    private var line: [UInt8] = []
    private var name = ""
    private var id = ""
    private var data: [UInt8]?

    /// Parses further bytes, and passes complete events to `take`. O(n).
    mutating func read(_ piece: some Sequence<UInt8>, _ take: (Event) -> Void) {
        for byte in piece {
            guard byte == UInt8(ascii: "\n") else {
                line.append(byte)
                continue
            }
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            if line.isEmpty { end(take) } else { field() }
            line.removeAll(keepingCapacity: true)
        }
    }

    /// Takes a line; one without a name is a comment.
    private mutating func field() {
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
        var value = line[colon...].dropFirst()
        if value.first == UInt8(ascii: " ") { value.removeFirst() }
        switch String(decoding: line[..<colon], as: UTF8.self) {
        case "event": name = String(decoding: value, as: UTF8.self)
        case "id": id = String(decoding: value, as: UTF8.self)
        case "data": data = data.map { $0 + [UInt8(ascii: "\n")] + value } ?? Array(value)
        default: break
        }
    }

    private mutating func end(_ take: (Event) -> Void) {
        defer { (name, id, data) = ("", "", nil) }
        switch (name, data) {
        case ("changes", let data?): take(.changes(data))
        case ("end", let data?): take(.end(data))
        case (_, nil) where !id.isEmpty: take(.revision(id))
        default: break
        }
    }
}
