extension ElementProfile {
    /// The names that lead to a place from an element, or from an object in it.
    func names(_ place: Int, from start: Int = 0) -> [[UInt8]] {
        sequence(first: place) { places[$0].parent }.prefix { $0 > 0 && $0 != start }.map { places[$0].name }.reversed()
    }

    func pointer(_ place: Int) -> JSONPointer { JSONPointer(tokens: names(place)) }

    func score(_ place: Int) -> Int {
        let names = names(place, from: subject)
        let found = places[place].found
        // The element's own id comes before that of an object in it.
        return IDName.score(names, isText: found.texts == found.ids) - (names.count < places[place].level ? 2 : 0)
    }

    /// What tells elements apart.
    struct Identity {
        let idAt: [JSONPointer]
        /// From 0 to 100.
        let score: Int
        /// Whether each element has an id of its own.
        var isUnique = true
        /// Whether that is no accident: the names say id, or the elements are many.
        var isSure = true
        /// Whether ids are unique within their section alone.
        var isScoped = false
        /// Whether ids are times or decimals.
        var isMeasure = false
        let place: Int
    }

    /// Whatever may tell elements apart, the surest first.
    var identities: [Identity] {
        let together = combinations.filter(\.isUnique).map { identity($0) }
        let alone = places.indices.compactMap { identity($0) }
        if let first = together.first, isUnique(first.place), !first.isScoped { return together + alone }
        return (alone + together).enumerated().sorted {
            let (one, other) = ($0.element, $1.element)
            if one.isSure != other.isSure { return one.isSure }
            return one.score != other.score ? one.score > other.score : $0.offset < $1.offset
        }.map(\.element)
    }

    private func identity(_ combination: Combination) -> Identity {
        let id = combination.places.last!
        return Identity(
            idAt: combination.places.map(pointer),
            score: combination.isScoped ? score(id) - 5 : combination.isSure ? 95 : IDName.sure,
            isSure: combination.isScoped ? isNamed(id) : combination.isSure, isScoped: combination.isScoped, place: id)
    }

    /// A member that tells elements apart, or nearly all of them.
    private func identity(_ place: Int) -> Identity? {
        guard let seen = places[place].seen, places[place].hasIDs(of: count), count > 0 else { return nil }
        let score = score(place)
        guard isUnique(place) ? score >= IDName.nameless.text : score >= 90 && seen.count * 2 >= count else {
            return nil
        }
        return Identity(
            idAt: [pointer(place)], score: isUnique(place) ? score : score - 45, isUnique: isUnique(place),
            isSure: isUnique(place) && isNamed(place), isMeasure: places[place].found.measures > 0, place: place)
    }

    /// What tells sections apart, which always have ids of their own.
    var sectionIdentity: Identity? { identities.first { $0.isUnique && $0.idAt.count == 1 && !$0.isScoped } }

    /// Whether elements are resources of several types, as in JSON:API, whose ids are unique within a type alone.
    func isOfResources(_ type: Int) -> Bool {
        (places[type].seen?.count ?? 0) > 1
            && places.contains { $0.parent == places[type].parent && $0.name.elementsEqual("attributes".utf8) }
    }

    /// Where the kind of each element is, if there are a few kinds.
    func kind(besides identity: Identity?) -> JSONPointer? {
        let parents: Set<Int> = identity.map { [0, places[$0.place].parent] } ?? [0]
        let place = places.indices.first {
            IDName.kinds.contains(places[$0].name) && parents.contains(places[$0].parent)
                && places[$0].hasIDs(of: count) && (2...16).contains(places[$0].seen?.count ?? 0)
        }
        return place.map(pointer).flatMap { identity?.idAt.contains($0) == true ? nil : $0 }
    }

    var expansion: JSONPointer? { places.indices.first { places[$0].isExpansion }.map(pointer) }

    /// Places of values that were compared, by which elements of other lists may refer to these, and these to others.
    var references: [(pointer: JSONPointer, name: String, values: Set<UInt64>)] {
        places.indices.compactMap { place in
            guard let seen = places[place].seen, places[place].hasIDs(of: count), place > 0 else { return nil }
            return (pointer(place), String(decoding: places[place].name, as: UTF8.self), seen)
        }
    }

    /// Places of lists of objects, the largest first.
    var lists: [Int] {
        places.indices.filter { places[$0].hasLists }
            .sorted { places[$0].found.innerBytes > places[$1].found.innerBytes }
    }

    /// The names of the members of the elements, or of an object in them.
    func memberNames(of object: JSONPointer = .root) -> Set<[UInt8]> {
        Set(places.indices.dropFirst().filter { pointer(places[$0].parent) == object }.map { places[$0].name })
    }

    /// In hundredths, how much of what any element has is in each; 0 if they have nothing in common.
    var likeness: Int {
        let members = places.filter { $0.parent == 0 }
        guard let most = members.map(\.found.count).max(), most * 4 >= count * 3 else { return 0 }
        return members.reduce(0) { $0 + $1.found.count } * 100 / (members.count * count)
    }

    /// Whether other elements look like these where their ids are, and have them in the same place.
    func resembles(_ other: ElementProfile, _ identity: Identity) -> Bool {
        let holder = JSONPointer(tokens: Array(identity.idAt[0].tokens.dropLast()))
        let (names, others) = (memberNames(of: holder), other.memberNames(of: holder))
        let common = names.intersection(others).count * 2
        // Besides their children.
        guard common > others.count, common >= names.count - 1 else { return false }
        return identity.idAt.allSatisfy { id in
            other.places.indices.contains { other.pointer($0) == id && other.places[$0].hasIDs(of: other.count) }
        }
    }

    /// Whether elements have a list at a place themselves, or all of them do.
    func haveLists(at pointer: JSONPointer, all: Bool = false) -> Bool {
        places.indices.contains {
            self.pointer($0) == pointer && (all ? places[$0].found.count == count : places[$0].found.lists > 0)
        }
    }
}
