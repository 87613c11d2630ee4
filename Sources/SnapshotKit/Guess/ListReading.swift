/// A shape that a list may have, and how likely it is.
struct ListReading {
    let shape: StateShape
    let score: Int

    /// How much less likely another reading of a list is than its first.
    static let alternate = 30

    /// The ways to read the lists of a document, the best first; elements of longer ones are not looked at. O(bytes).
    static func readings(of lists: [FoundList], maxItems: Int) -> [ListReading] {
        let (short, long) = (lists.filter { $0.count <= maxItems }, lists.filter { $0.count > maxItems })
        let objects = short.filter { $0.elements == .objects }.map { ObjectReadings($0) }
        var readings = objects.flatMap { $0.readings }
        for list in short where list.elements != .objects { readings += Self.readings(of: list) }
        readings += objects.flatMap { rows in objects.compactMap { rows.joined(with: $0) } }
        readings += long.map { ListReading($0.mapping, $0.weight) }
        return readings.enumerated().sorted { ($1.element.score, $0.offset) < ($0.element.score, $1.offset) }
            .map(\.element)
    }

    private static func readings(of list: FoundList) -> [ListReading] {
        var matched = list.mapping
        matched.element.idAt = []
        switch list.elements {
        case .lists:
            let grouped = grouped(list)
            return (grouped.map { [$0] } ?? [])
                + (list.isMap ? [] : [ListReading(matched, list.weight - (grouped == nil ? 0 : alternate))])
        case .values where list.isMap: return [ListReading(list.mapping, list.weight)]
        default:
            var mapping = list.mapping
            mapping.element.idAt = [.root]
            let byMatch = ListReading(matched, list.weight)
            let profile = ElementProfile(of: list.start)
            let areMeasures = profile.places[0].found.measures > 0
            // Times or decimals in an object are a column of a table.
            if areMeasures, !list.pointer.tokens.isEmpty { return [] }
            guard !areMeasures, profile.identities.contains(where: \.isUnique) else { return [byMatch] }
            // Texts such as the lines of a log repeat sooner or later.
            return list.holdsLines
                ? [byMatch, ListReading(mapping, list.weight - alternate)] : [ListReading(mapping, list.weight)]
        }
    }

    /// Lists that are read as sections, by name or by index, if their elements are alike and have ids.
    private static func grouped(_ list: FoundList) -> ListReading? {
        let profile = ElementProfile(of: list.start, at: .root)
        guard let identity = profile.identities.first, identity.isUnique, identity.idAt != [.root] else { return nil }
        var mapping = StateShape.FieldMapping()
        (mapping.sectionsAt, mapping.sectionsAreMap, mapping.itemsAt) = (list.pointer, true, .root)
        mapping.take(identity, profile)
        // Where names are keys, none of the lists is the one that was meant.
        let isLikely = list.hasKeys || identity.isSure && (list.listsAreAlike || !list.isMap)
        return ListReading(mapping, list.weight + identity.score / 2 - (isLikely ? 0 : alternate))
    }

    init(_ mapping: StateShape.FieldMapping, _ score: Int) {
        (shape, self.score) = (StateShape(mapping), score - 2 * mapping.depth)
    }
}

/// How to read a list of objects: flat, as an outline, or as sections.
private struct ObjectReadings {
    private let list: FoundList
    private let profile: ElementProfile
    private let sample: ElementProfile
    private let identities: [ElementProfile.Identity]

    init(_ list: FoundList) {
        self.list = list
        profile = ElementProfile(of: list.start)
        sample = ElementProfile(sampleOf: list.start)
        identities = profile.identities.filter { !$0.isMeasure }
    }

    private var identity: ElementProfile.Identity? { identities.first { $0.isSure } }
    /// How likely it is that this is the list, and that its elements are told apart so.
    private var score: Int { list.weight + (identity?.score ?? 20) / 2 }

    /// Sections come before outlines, unless children have children themselves, or some elements have none at all.
    var readings: [ListReading] {
        let (sections, isLikely) = sections
        if list.isMap { return (sections.map { [$0] } ?? []) + map(sections) }
        var nested = [isLikely ? sections?.shape.mapping : nil, outline].compactMap(\.self)
        if let children = nested.last?.element.childrenAt,
            inner(at: children).haveLists(at: children) || !sample.haveLists(at: children, all: true)
        {
            nested.reverse()
        }
        let last = isLikely ? nil : sections?.shape.mapping
        return nested.enumerated().map { ListReading($1, score + 6 - $0) } + flat
            + [last].compactMap(\.self).map { ListReading($0, score - ListReading.alternate - 1) }
    }

    /// The first elements of the lists at a place in the elements.
    private func inner(at children: JSONPointer) -> ElementProfile {
        ElementProfile(sampleOf: list.start, at: children)
    }

    private var flat: [ListReading] {
        let best = ListReading(mapping(identity), score)
        if identities.isEmpty { return [best] }
        let other = identities.first { $0.place != identity?.place }
        return [best, ListReading(mapping(other), score - ListReading.alternate)]
    }

    private func mapping(_ identity: ElementProfile.Identity?) -> StateShape.FieldMapping {
        var mapping = list.mapping
        mapping.take(identity, profile)
        return mapping
    }

    /// An object of objects, whose names are their ids: they are alike, or their names are keys, or they are many.
    private func map(_ sections: ListReading?) -> [ListReading] {
        let isLikely = sample.likeness >= (list.hasKeys ? 20 : 60)
        guard isLikely || list.count >= (list.hasKeys ? 3 : 8) else { return [] }
        var mapping = list.mapping
        mapping.element.kindAt = profile.kind(besides: nil)
        let nested = sections.map { $0.score - 1 } ?? .max
        return [ListReading(mapping, min(nested, list.weight + (!isLikely ? 0 : list.hasKeys ? 40 : 25)))]
    }

    /// Where elements contain elements like themselves.
    private var outline: StateShape.FieldMapping? {
        guard let identity, !list.isMap else { return nil }
        let children = profile.lists.lazy.map(profile.pointer).first { sample.resembles(inner(at: $0), identity) }
        return children.map { children in
            var mapping = mapping(identity)
            (mapping.element.childrenAt, mapping.element.expandedAt) = (children, profile.expansion)
            return mapping
        }
    }

    /// The list as sections: likely if an element is a header and its rows, rather than a post and its comments.
    private var sections: (ListReading?, isLikely: Bool) {
        guard profile.lists.count == 1, let place = profile.lists.first, profile.memberNames().count <= 8 else {
            return (nil, false)
        }
        let isFolded = profile.expansion != nil
        let hasRows = profile.places[place].found.longest > 1 || isFolded || outline != nil
        guard hasRows || !list.isMap else { return (nil, false) }
        let innerBytes = profile.places[place].found.innerBytes
        var mapping = StateShape.FieldMapping()
        (mapping.sectionsAt, mapping.itemsAt) = (list.pointer, profile.pointer(place))
        mapping.sectionExpandedAt = profile.expansion
        if list.isMap {
            mapping.sectionsAreMap = true
        } else {
            guard let identity = profile.sectionIdentity else { return (nil, false) }
            mapping.sectionIDAt = identity.idAt[0]
        }
        let inner = ElementProfile(of: list.start, at: profile.pointer(place))
        let identity = inner.identities.first { $0.isSure }
        // Rows that are not told apart everywhere may be labels, of which there are less than of all else.
        let isWhole = identity.map { !$0.isScoped } ?? false
        let isFilled = innerBytes * (isWhole ? 3 : 2) >= profile.bytes
        guard !list.isMap || isFilled && identity != nil else { return (nil, false) }
        mapping.take(identity, inner)
        return (ListReading(mapping, list.weight + (identity?.score ?? 20) / 2), hasRows && (isFilled || isFolded))
    }

    /// Rows of this list that refer to the sections of another, if the reference is called after that.
    func joined(with sections: ObjectReadings) -> ListReading? {
        guard !list.isMap, !sections.list.isMap, list.start != sections.list.start, sections.list.mayBeSections,
            let key = sections.identity, key.idAt.count == 1,
            let ids = sections.profile.references.first(where: { $0.pointer == key.idAt[0] })?.values
        else { return nil }
        let reference = profile.references.first { reference in
            identity?.idAt.contains(reference.pointer) != true && reference.values.isSubset(of: ids)
                && sections.list.isReferredTo(as: reference.name)
        }
        return reference.map { reference in
            var mapping = mapping(identity)
            (mapping.sectionsAt, mapping.sectionIDAt) = (sections.list.pointer, key.idAt[0])
            (mapping.element.groupAt, mapping.sectionExpandedAt) = (reference.pointer, sections.profile.expansion)
            return ListReading(mapping, max(score, sections.score) + 10)
        }
    }
}

extension FoundList {
    fileprivate var mapping: StateShape.FieldMapping {
        var mapping = StateShape.FieldMapping()
        (mapping.itemsAt, mapping.element.isMap) = (pointer, isMap)
        return mapping
    }

    /// Whether most of the first elements are texts of several words.
    fileprivate var holdsLines: Bool {
        var (count, lines) = (0, 0)
        Self.forEach(in: start, upTo: ElementProfile.sample) { cursor, _ in
            count += 1
            guard cursor.byte == UInt8(ascii: "\"") else { return cursor.skipValue() }
            if cursor.takeString().text.count(where: { $0 == UInt8(ascii: " ") }) > 1 { lines += 1 }
        }
        return lines * 2 > count
    }

    /// Whether the elements of the first lists in it have mostly the same members.
    fileprivate var listsAreAlike: Bool {
        var names: [Set<[UInt8]>] = []
        Self.forEach(in: start, upTo: ElementProfile.sample) { cursor, _ in
            let profile = ElementProfile(sampleOf: cursor.at)
            if profile.count > 0 { names.append(profile.memberNames()) }
            cursor.skipValue()
        }
        let all = names.reduce(into: Set()) { $0.formUnion($1) }
        return names.allSatisfy { $0.count * 4 >= all.count * 3 }
    }

    /// Whether a member's name refers to an element of this list: `sectionId` or `idSection`, if it is `sections`.
    fileprivate func isReferredTo(as name: String) -> Bool {
        var words = IDName.words(of: name)
        if let id = words.firstIndex(where: { ["id", "key", "ref"].contains($0) }) { words.remove(at: id) }
        let stem = words.joined()
        let own = pointer.tokens.last.map { IDName.words(of: String(decoding: $0, as: UTF8.self)).joined() } ?? ""
        return !stem.isEmpty && [stem, stem + "s", stem + "es", String(stem.dropLast()) + "ies"].contains(own)
    }
}

extension StateShape.FieldMapping {
    /// Adopts what tells elements apart; nothing does if nil.
    fileprivate mutating func take(_ identity: ElementProfile.Identity?, _ profile: ElementProfile) {
        element.idAt = identity?.idAt ?? []
        if element.idAt.count <= 1 { element.kindAt = profile.kind(besides: identity) }
        if let identity { (keepsFirst, element.scopesIDs) = (!identity.isUnique, identity.isScoped) }
    }

    /// The number of objects around the list.
    fileprivate var depth: Int { (sectionsAt ?? items).tokens.count }
}
