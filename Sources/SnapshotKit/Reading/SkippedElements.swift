/// Something that a writer should know about a document that was accepted.
public struct StateWarning: Sendable, Hashable {
    /// A short name for programs, such as `duplicate-id`.
    public let code: String
    /// JSON Pointer (RFC 6901) into the document that was read.
    public let pointer: String
    /// The id in question; nil if there is none.
    public let id: ElementID?

    /// The largest number reported.
    public static let maxCount = 20

    init(code: String, _ pointer: String, _ id: IDText?) {
        (self.code, self.pointer, self.id) = (code, pointer, id.map { ElementID($0) })
    }
}

/// Elements of a document that are left out because they have no usable id.
struct SkippedElements {
    private(set) var records: [RecordIndex] = []
    private(set) var places: [DocumentPlace] = []

    var isEmpty: Bool { records.isEmpty }
    var count: Int { records.count }

    /// Adds one in place of all those after the first `count`, which it contains.
    mutating func append(_ record: RecordIndex, at place: DocumentPlace, behind count: Int) {
        records.removeLast(records.count - count)
        if places.count > count { places.removeLast(places.count - count) }
        records.append(record)
        if places.count < StateWarning.maxCount { places.append(place) }
    }
}
