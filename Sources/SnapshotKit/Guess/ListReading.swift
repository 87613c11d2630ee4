/// A shape that a list may have, and how likely it is.
struct ListReading {
    let shape: StateShape
    let score: Int

    /// The ways to read a list, the best first. O(bytes).
    ///
    /// - Parameter maxItems: a list of more elements is not looked at, and its shape is guessed without that.
    static func readings(of list: FoundList, maxItems: Int) -> [ListReading] {
        var places = StateShape.Places()
        places.itemsAt = list.pointer
        guard list.count <= maxItems else {
            places.element.isMap = list.isMap
            return [ListReading(places, list.weight)]
        }
        switch list.elements {
        case .objects: return ObjectReadings(list).readings(places)
        case .lists: return grouped(list)
        case .texts:
            places.element.idAt = [.root]
            let profile = ElementProfile(of: list)
            guard let identity = profile.identity() else { return [] }
            places.keepsFirst = !identity.isUnique
            return [ListReading(places, list.weight)]
        case .values:
            places.element.isMap = true
            return [ListReading(places, list.weight)]
        }
    }

    /// An object of lists is read as sections if their elements are alike.
    private static func grouped(_ list: FoundList) -> [ListReading] {
        let profile = ElementProfile(of: list, at: .root)
        guard let identity = profile.identity(), list.listsAreAlike else { return [] }
        var places = StateShape.Places()
        (places.sectionsAt, places.sectionsAreMap, places.itemsAt) = (list.pointer, true, .root)
        places.take(identity, profile)
        return [ListReading(places, list.weight + identity.score / 2)]
    }

    init(_ places: StateShape.Places, _ score: Int) {
        (shape, self.score) = (StateShape(places), score - 2 * places.depth)
    }
}

/// How to read a list of objects: flat, as an outline, or as sections.
private struct ObjectReadings {
    private let list: FoundList
    private let profile: ElementProfile
    private let sample: ElementProfile
    private let identity: ElementProfile.Identity?

    init(_ list: FoundList) {
        self.list = list
        profile = ElementProfile(of: list)
        sample = ElementProfile(sampleOf: list)
        identity = profile.identity()
    }

    /// - Parameter flat: with the place of the list.
    func readings(_ flat: StateShape.Places) -> [ListReading] {
        var flat = flat
        var score = list.weight
        var readings: [ListReading] = []
        let isOutline = identity.map { outline($0) } ?? nil
        if isOutline == nil, let sections { readings.append(sections) }
        if list.isMap {
            guard sample.likeness >= (list.hasKeys ? 20 : 60) else { return readings }
            flat.element.isMap = true
            flat.element.kindAt = profile.kind(besides: nil)
            score += list.hasKeys ? 40 : 25
        } else {
            guard let identity else { return readings }
            flat.take(identity, profile)
            score += identity.score / 2
        }
        if let isOutline, !list.isMap {
            var places = flat
            places.element.childrenAt = isOutline
            readings.append(ListReading(places, score + 5))
        }
        if !readings.isEmpty { score = min(score, readings[0].score - 1) }
        return readings + [ListReading(flat, score)]
    }

    /// Where elements contain elements like themselves.
    private func outline(_ identity: ElementProfile.Identity) -> JSONPointer? {
        profile.lists.lazy.map(profile.pointer).first {
            sample.resembles(ElementProfile(sampleOf: list, at: $0), identity)
        }
    }

    /// The list as sections, if each element is little more than a list: a header and its rows, rather than a post and
    /// its comments.
    private var sections: ListReading? {
        guard profile.lists.count == 1, let place = profile.lists.first, profile.memberNames.count <= 8,
            profile.places[place].longest > 1, profile.places[place].innerBytes * 3 >= profile.bytes
        else { return nil }
        var places = StateShape.Places()
        (places.sectionsAt, places.itemsAt) = (list.pointer, profile.pointer(place))
        if list.isMap {
            places.sectionsAreMap = true
        } else {
            guard let identity, identity.isUnique, identity.idAt.count == 1, identity.score >= 20 else { return nil }
            places.sectionIDAt = identity.idAt[0]
        }
        let inner = ElementProfile(of: list, at: profile.pointer(place))
        guard let identity = inner.identity(), identity.isUnique else { return nil }
        places.take(identity, inner)
        return ListReading(places, list.weight + identity.score / 2)
    }
}

extension FoundList {
    /// Whether the elements of the first lists in it have mostly the same members.
    fileprivate var listsAreAlike: Bool {
        var names: [Set<[UInt8]>] = []
        forEach(upTo: ElementProfile.sample) { cursor in
            let list = FoundList(
                pointer: .root, start: cursor.at, bytes: 0, count: 0, elements: .objects, isMap: false, hasKeys: false,
                weight: 0)
            let profile = ElementProfile(sampleOf: list)
            if profile.count > 0 { names.append(profile.memberNames) }
            cursor.skipValue()
        }
        let all = names.reduce(into: Set()) { $0.formUnion($1) }
        return names.allSatisfy { $0.count * 4 >= all.count * 3 }
    }
}

extension StateShape.Places {
    /// Adopts what tells elements apart.
    fileprivate mutating func take(_ identity: ElementProfile.Identity, _ profile: ElementProfile) {
        element.idAt = identity.idAt
        if identity.idAt.count == 1 { element.kindAt = profile.kind(besides: identity) }
        keepsFirst = !identity.isUnique
    }

    /// The number of objects around the list.
    fileprivate var depth: Int { (sectionsAt ?? items).tokens.count }
}
