// What a state needs and its document does not hold as it stands: the text of ids that were written with escapes, and
// contents that are a document less one member. They are kept in a tail of the buffer, behind the document.
//
// An escaped id is stored as  token · length of the token (2 bytes) · text : its record points at the text, and who
// wants the token looks just before it.

/// Bytes to be appended to a document's buffer.
struct TokenStore {
    /// Offset, in the final buffer, of the first of `bytes`.
    let base: Int
    private(set) var bytes: [UInt8] = []

    init(base: Int) { self.base = base }

    /// Stores an id's token and text; returns where the text will stand.
    mutating func store(token: UnsafeRawBufferPointer, text: [UInt8]) -> Int {
        bytes.append(contentsOf: token)
        bytes.append(UInt8(truncatingIfNeeded: token.count))
        bytes.append(UInt8(truncatingIfNeeded: token.count >> 8))
        let start = base + bytes.count
        bytes.append(contentsOf: text)
        return start
    }

    /// Stores bytes as they are; returns where they will stand.
    mutating func store(_ slices: UnsafeRawBufferPointer...) -> Int {
        let start = base + bytes.count
        for slice in slices { bytes.append(contentsOf: slice) }
        return start
    }

    /// The token of an escaped id whose text starts at `text`.
    static func token(before text: UnsafeRawPointer) -> UnsafeRawBufferPointer {
        let low = Int(text.load(fromByteOffset: -2, as: UInt8.self))
        let count = low | Int(text.load(fromByteOffset: -1, as: UInt8.self)) << 8
        return UnsafeRawBufferPointer(start: text - 2 - count, count: count)
    }
}
