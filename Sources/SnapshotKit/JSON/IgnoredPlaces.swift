/// Places inside a content that equality and fingerprints leave out.
///
/// Walking down a document narrows the set to what can still match below; the empty set costs one comparison a value.
struct IgnoredPlaces: Sendable, Equatable {
    /// What remains of each pointer; never an empty remainder.
    private var remainders: [ArraySlice<[UInt8]>]

    static let none = IgnoredPlaces(remainders: [])

    private init(remainders: [ArraySlice<[UInt8]>]) { self.remainders = remainders }

    /// The pointer to the whole content is left out of the set: a content that is ignored altogether would be no content.
    init(_ pointers: [JSONPointer]) {
        remainders = pointers.compactMap { $0.tokens.isEmpty ? nil : $0.tokens[...] }
    }

    @inline(__always)
    var isEmpty: Bool { remainders.isEmpty }

    /// What is left out below a member, or nil if the member itself is.
    func below(_ name: JSONString) -> IgnoredPlaces? { below { name.isText($0) } }

    /// What is left out below an element, or nil if the element itself is.
    func below(_ index: Int) -> IgnoredPlaces? { below { $0.arrayIndex == index } }

    private func below(_ matches: ([UInt8]) -> Bool) -> IgnoredPlaces? {
        var inner: [ArraySlice<[UInt8]>] = []
        for remainder in remainders where matches(remainder[remainder.startIndex]) {
            if remainder.count == 1 { return nil }
            inner.append(remainder.dropFirst())
        }
        return IgnoredPlaces(remainders: inner)
    }
}
