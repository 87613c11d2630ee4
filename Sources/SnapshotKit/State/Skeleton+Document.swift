// A skeleton as a document: a state like any other, whose contents and kinds are fingerprints in hexadecimal. So a
// store keeps it as text that the strict reader of states checks again, and a record that was damaged is refused, never
// trusted.

extension Skeleton {
    /// Writes the skeleton as a state. O(n).
    public func writeDocument(into writer: inout JSONWriter) {
        columns.withView { writer.append(documentOf: $0, showing: fingerprints) }
    }

    /// Reads what `writeDocument` wrote. O(n).
    ///
    /// - Parameter hash: the function of its fingerprints.
    /// - Throws: where the text is no such document.
    public init(document: consuming [UInt8], hash: KeyedHash) throws(StateError) {
        let snapshot = try Snapshot(json: document, limits: .none)
        guard let fingerprints = Fingerprints(writtenIn: snapshot, by: hash) else {
            throw .wrongShape([
                Violation(pointer: "", code: "wrong-type", detail: "a skeleton's contents are fingerprints")
            ])
        }
        self.init(of: snapshot, fingerprints: fingerprints)
    }
}

extension Fingerprints {
    /// What the contents of a skeleton's document say; nil if they are no fingerprints.
    fileprivate convenience init?(writtenIn snapshot: Snapshot, by hash: KeyedHash) {
        let read = snapshot.columns.withView { view -> ([Fingerprint], [UInt64])? in
            var items = [Fingerprint](repeating: Fingerprint(), count: view.nodes.count)
            for item in view.nodes.indices {
                let flags = view.nodes[item].flags
                if flags.contains(.hasContent) {
                    guard let content = UInt64(written: view.content(ofItem: item)) else { return nil }
                    items[item].content = content
                }
                if flags.contains(.hasKind) {
                    guard let kind = UInt64(written: view.kind(ofItem: item)) else { return nil }
                    items[item].kind = UInt32(truncatingIfNeeded: kind)
                }
            }
            var sections = [UInt64](repeating: 0, count: view.sections.count)
            for section in view.sections.indices where view.sections[section].flags.contains(.hasContent) {
                guard let content = UInt64(written: view.content(ofSection: section)) else { return nil }
                sections[section] = content
            }
            return (items, sections)
        }
        guard let read else { return nil }
        self.init(items: read.0, sections: read.1, of: snapshot.columns, by: hash)
    }
}

extension UInt64 {
    /// A fingerprint as a document has it; nil for anything else.
    fileprivate init?(written text: UnsafeRawBufferPointer) {
        guard (3...18).contains(text.count), text.first == UInt8(ascii: "\""), text.last == UInt8(ascii: "\"") else {
            return nil
        }
        var value: UInt64 = 0
        for byte in text[1..<text.count - 1] {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt64(byte - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 | UInt64(byte - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        self = value
    }
}
