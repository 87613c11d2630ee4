/// A compact form of a state that is not in use. Its text stays as it is; its records are reduced to what cannot be
/// derived, as differences in LEB128: some 5 bytes per item, where the columns of a state in use take 24 to 48, and
/// some 10 for its fingerprints. These are kept, since computing them means reading all contents.
public struct PackedSnapshot: Sendable {
    private let text: TextRope
    private let records: [UInt8]
    private let settings: ParseSettings
    /// Whether the document had its rows in another order, which their elements tell.
    private let hasDocumentOrder: Bool
    private let hash: KeyedHash

    /// Packs a state. O(items); the text is shared.
    public init(_ snapshot: Snapshot, _ fingerprints: Fingerprints) {
        (text, settings, hash) = (snapshot.columns.text, snapshot.columns.settings, fingerprints.hash)
        hasDocumentOrder = !snapshot.columns.documentOrder.isEmpty
        records = snapshot.columns.withView { view in
            let capacity = RecordWriter.maxBytes * (1 + view.nodes.count + view.sections.count)
            return withUnsafeTemporaryAllocation(byteCount: capacity, alignment: 8) { room in
                var writer = RecordWriter(room.baseAddress!)
                writer.append(range: view.columns.list.start, view.columns.list.count)
                writer.append(word: fingerprints.list)
                writer.append(view.sections.count)
                writer.append(view.nodes.count)
                for (section, content) in zip(view.sections, fingerprints.sections) {
                    writer.append(section.asItem.node, section.asItem.payload, content, kind: 0)
                    writer.append(Int(section.endItem - section.firstItem))
                    for item in Int(section.firstItem)..<Int(section.endItem) {
                        let print = fingerprints.items[item]
                        writer.append(view.nodes[item], view.payload(ofItem: item), print.content, kind: print.kind)
                    }
                }
                return Array(room[..<writer.count])
            }
        }
    }

    /// Memory held, in bytes.
    public var footprint: Int { text.footprint + records.capacity }

    /// The state and its fingerprints as they were. O(items).
    public func opened() -> (Snapshot, Fingerprints) {
        records.withUnsafeBytes { records in
            var reader = PackedRecordParser(records.baseAddress!)
            var builder = ColumnsBuilder()
            builder.list = ListContent(reader.takeRange())
            let list = reader.takeWord()
            var ofSections = [UInt64](filled: 0, count: reader.take())
            var ofItems = [Fingerprint](filled: Fingerprint(), count: reader.take())
            builder.expect(items: ofItems.count)
            builder.settings = settings
            for section in ofSections.indices {
                let flags = reader.takeHead().flags
                builder.beginSection()
                builder.setID(ofSection: section, reader.takeID(flags))
                if flags.contains(.hasContent) {
                    builder.setContent(ofSection: section, reader.takeRange())
                    ofSections[section] = reader.takeWord()
                }
                if flags.contains(.isCollapsed) { builder.collapse(.section(section)) }
                for _ in 0..<reader.take() {
                    let (flags, level) = reader.takeHead()
                    let item = builder.beginItem(parent: -1, level: level)
                    builder.setID(ofItem: item, reader.takeID(flags))
                    if flags.contains(.hasContent) {
                        builder.setContent(ofItem: item, reader.takeRange())
                        ofItems[item].content = reader.takeWord()
                    }
                    if flags.contains(.hasKind) {
                        builder.setKind(ofItem: item, start: reader.takeStart())
                        ofItems[item].kind = UInt32(truncatingIfNeeded: reader.take())
                    }
                    if flags.contains(.isCollapsed) { builder.collapse(.item(item)) }
                }
                builder.endSection()
            }
            builder.outline()
            if hasDocumentOrder { builder.setDocumentOrder() }
            let columns = exchange(&builder, with: ColumnsBuilder()).finish(text: text).columns
            let fingerprints = Fingerprints(items: ofItems, sections: ofSections, list: list, of: columns, by: hash)
            return (Snapshot(columns), fingerprints)
        }
    }
}

/// Marks a record whose level follows. The bit is free, since what is hidden follows from what is collapsed.
private let levelFollows = NodeFlags.isHidden

/// Writes numbers as LEB128, and offsets in the text as distances from the end of the last range.
private struct RecordWriter {
    /// The largest size of a record: flags, level, three offsets, three lengths or numbers, and two fingerprints.
    static let maxBytes = 48

    private let room: UnsafeMutableRawPointer
    private(set) var count = 0
    private var at = 0
    private var level = 0

    init(_ room: UnsafeMutableRawPointer) { self.room = room }

    @inline(__always)
    mutating func append(_ number: Int) {
        var rest = UInt64(bitPattern: Int64(number))
        while rest >= 0x80 {
            room.storeBytes(of: UInt8(truncatingIfNeeded: rest) | 0x80, toByteOffset: count, as: UInt8.self)
            count += 1
            rest >>= 7
        }
        room.storeBytes(of: UInt8(truncatingIfNeeded: rest), toByteOffset: count, as: UInt8.self)
        count += 1
    }

    /// Appends eight bytes that LEB128 would not shorten.
    @inline(__always)
    mutating func append(word: UInt64) {
        (room + count).storeBytes(of: word.littleEndian, as: UInt64.self)
        count += 8
    }

    @inline(__always)
    mutating func append(start: UInt32) {
        let distance = Int(start) - at
        append(distance << 1 ^ distance >> 63)
        at = Int(start)
    }

    @inline(__always)
    mutating func append(range start: UInt32, _ count: UInt32) {
        append(start: start)
        append(Int(count))
        at += Int(count)
    }

    @inline(__always)
    mutating func append(_ node: Node, _ payload: Payload, _ content: UInt64, kind: UInt32) {
        let flags = node.flags.subtracting(.isHidden)
        if Int(node.level) == level {
            append(Int(flags.rawValue))
        } else {
            append(Int(flags.union(levelFollows).rawValue))
            level = Int(node.level)
            append(level)
        }
        append(range: node.idStart, UInt32(node.idCount))
        if flags.contains(.hasContent) {
            append(range: payload.contentStart, payload.contentCount)
            append(word: content)
        }
        if flags.contains(.hasKind) {
            append(start: payload.kindStart)
            append(Int(kind))
        }
    }
}

/// Reads what `RecordWriter` wrote, in the same order.
private struct PackedRecordParser {
    private var next: UnsafeRawPointer
    private var at = 0
    private var level = 0

    init(_ records: UnsafeRawPointer) { next = records }

    @inline(__always)
    mutating func take() -> Int {
        var (number, shift) = (UInt64(0), UInt64(0))
        while true {
            let byte = next.load(as: UInt8.self)
            next += 1
            number |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return Int(truncatingIfNeeded: number) }
            shift += 7
        }
    }

    @inline(__always)
    mutating func takeWord() -> UInt64 {
        defer { next += 8 }
        return load64(next)
    }

    @inline(__always)
    mutating func takeStart() -> Int {
        let number = UInt64(bitPattern: Int64(take()))
        at += Int(truncatingIfNeeded: number >> 1) ^ -Int(truncatingIfNeeded: number & 1)
        return at
    }

    @inline(__always)
    mutating func takeRange() -> Range<Int> {
        let start = takeStart()
        at += take()
        return start..<at
    }

    @inline(__always)
    mutating func takeID(_ flags: NodeFlags) -> FoundID {
        let range = takeRange()
        return FoundID(start: range.lowerBound, count: range.count, flags: flags)
    }

    @inline(__always)
    mutating func takeHead() -> (flags: NodeFlags, level: Int) {
        let flags = NodeFlags(rawValue: UInt8(truncatingIfNeeded: take()))
        if flags.contains(levelFollows) { level = take() }
        return (flags.subtracting(levelFollows), level)
    }
}
