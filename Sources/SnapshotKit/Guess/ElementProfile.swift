/// What tells the elements of a list apart, and which lists are in them. The first elements decide what to look for;
/// then all are searched for that alone. If no member is sure to tell them apart, they are searched once more for
/// members that do so together, or within their section.
struct ElementProfile {
    /// A member of each element, or of an object in it.
    struct Place {
        /// The index of the place of the object around it.
        let parent: Int
        let name: [UInt8]
        /// How many names lead here.
        let level: Int
        /// The place that followed last: elements mostly have their members in the same order.
        var sequel = 0
        var found = Findings()
        /// Whether ids and lists are looked at here, or further below.
        var isWanted = true
        /// Hashes of the ids seen so far, if they are compared.
        var seen: Set<UInt64>?
        var current: UInt64?

        func hasIDs(of elements: Int) -> Bool { found.ids == elements }
        /// Whether there are lists of objects here, and nothing else.
        var hasLists: Bool { found.innerCount > 0 && found.lists + found.nulls == found.count }
        /// Whether this says if an element is expanded.
        var isExpansion: Bool {
            found.flags > 0 && found.flags + found.nulls == found.count && parent == 0
                && ["isexpanded", "expanded", "isopen", "open"].contains(
                    String(decoding: name, as: UTF8.self).lowercased())
        }
    }

    /// What is at a place.
    struct Findings {
        /// Elements with any value here, what could be an id, a string, a time or decimal, a list, a boolean, null.
        var (count, ids, texts, measures, lists, flags, nulls) = (0, 0, 0, 0, 0, 0, 0)
        /// Elements of these lists, of the longest of them, and their bytes; bytes of objects.
        var (innerCount, longest, innerBytes, objectBytes) = (0, 0, 0, 0)
    }

    /// Places that may tell elements apart together, or within their section alone.
    struct Combination {
        let places: [Int]
        var isScoped = false
        /// Whether it is no accident if no two elements agree in them.
        var isSure = true
        var seen: Set<UInt64> = []
        var isUnique = true

        /// Adds the element last taken at the places, of the list with a number.
        mutating func add(_ all: [Place], _ list: Int) {
            var hash = isScoped ? UInt64(list) : 0
            for place in places { hash = hash &* 0x9E37_79B9_7F4A_7C15 ^ (all[place].current ?? 0) }
            if !seen.insert(hash).inserted { (isUnique, seen) = (false, []) }
        }
    }

    /// Names of objects around an id.
    private static let maxLevel = 3
    private static let maxPlaces = 64
    /// Elements that decide what to look for.
    static let sample = 32
    /// The most places whose ids are compared.
    private static let maxIDs = 6
    /// Numbers of elements from which a pair of members is trusted as an id: with names that say id, and with any.
    private static let many = (ids: 20, texts: 100)
    /// The most members of which pairs are tried.
    private static let maxParts = 4

    /// The first is the element itself.
    private(set) var places = [Place(parent: -1, name: [], level: 0)]
    /// Elements, and their bytes.
    private(set) var count = 0
    private(set) var bytes = 0
    /// Whether only the first elements were taken.
    private var isSample = true
    private(set) var combinations: [Combination] = []
    /// The object in each element that holds most of it, with no texts beside it but a kind and times: that of an entry
    /// in a playlist, of a hit, of a rank in a table. Its id is the element's. 0 if there is none.
    private(set) var subject = 0

    /// Profiles the elements of a list, or those of the lists at `inner` in its elements. O(bytes).
    init(of list: UnsafeRawPointer, at inner: JSONPointer? = nil) {
        self.init(sampleOf: list, at: inner)
        choose()
        FoundList.forEach(in: list, at: inner) { element, _ in take(&element) }
        combinations = combinations(isNested: inner != nil)
        guard !combinations.isEmpty else { return }
        var again = self
        FoundList.forEach(in: list, at: inner) { element, outer in
            again.take(&element)
            for index in combinations.indices where combinations[index].isUnique {
                combinations[index].add(again.places, outer)
            }
        }
    }

    /// Profiles the first elements alone. O(bytes of those).
    init(sampleOf list: UnsafeRawPointer, at inner: JSONPointer? = nil) {
        FoundList.forEach(in: list, at: inner, upTo: Self.sample) { element, _ in take(&element) }
    }

    // MARK: Looking

    private mutating func take(_ cursor: inout JSONCursor) {
        let start = cursor.at
        count += 1
        takeValue(&cursor, at: 0)
        bytes += cursor.at - start
    }

    private mutating func takeValue(_ cursor: inout JSONCursor, at place: Int) {
        places[place].found.count += 1
        guard places[place].isWanted else { return cursor.skipValue() }
        switch cursor.byte {
        case UInt8(ascii: "{") where places[place].level < Self.maxLevel:
            let start = cursor.at
            takeMembers(&cursor, of: place)
            places[place].found.objectBytes += cursor.at - start
        case UInt8(ascii: "["): takeList(&cursor, at: place)
        case UInt8(ascii: "\""):
            let text = cursor.takeString()
            guard text.count > 0, text.count <= StateLimits.maxIDBytes else { return }
            places[place].found.texts += 1
            if text.isTime || text.isDecimal { places[place].found.measures += 1 }
            takeID(text, at: place)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            let token = cursor.takeToken()
            guard token.count <= StateLimits.maxIDBytes, !token.contains(where: { ".eE".utf8.contains($0) }) else {
                return
            }
            takeID(JSONString(start: token.baseAddress!, count: token.count, isEscaped: false), at: place)
        case UInt8(ascii: "t"), UInt8(ascii: "f"):
            places[place].found.flags += 1
            cursor.skipValue()
        case UInt8(ascii: "n"):
            places[place].found.nulls += 1
            cursor.skipValue()
        default: cursor.skipValue()
        }
    }

    private mutating func takeMembers(_ cursor: inout JSONCursor, of parent: Int) {
        guard cursor.enter() else { return }
        var last = parent
        repeat {
            if let place = place(cursor.takeName(), in: parent, behind: last) {
                last = place
                takeValue(&cursor, at: place)
            } else {
                cursor.skipValue()
            }
        } while cursor.takesComma()
    }

    /// The place of a member; nil if it is not looked at.
    private mutating func place(_ name: JSONString, in parent: Int, behind last: Int) -> Int? {
        let next = places[last].sequel
        if places[next].parent == parent, name.isText(places[next].name) { return next }
        let found = places.indices.first { places[$0].parent == parent && name.isText(places[$0].name) }
        if let found {
            places[last].sequel = found
            return found
        }
        guard isSample, places.count < Self.maxPlaces, name.count <= StateShape.maxPointerBytes / 8 else { return nil }
        places.append(Place(parent: parent, name: Array(name.text), level: places[parent].level + 1))
        places[last].sequel = places.count - 1
        return places.count - 1
    }

    private mutating func takeID(_ id: JSONString, at place: Int) {
        places[place].found.ids += 1
        guard !isSample else { return }
        let hash = fingerprint(of: id, by: .process)
        places[place].current = hash
        places[place].seen?.insert(hash)
    }

    /// Takes a list, which counts if it holds only objects.
    private mutating func takeList(_ cursor: inout JSONCursor, at place: Int) {
        let start = cursor.at
        var (count, objects) = (0, 0)
        if cursor.enter() {
            repeat {
                count += 1
                if cursor.byte == UInt8(ascii: "{") { objects += 1 }
                cursor.skipValue()
            } while cursor.takesComma()
        }
        guard objects == count else { return }
        places[place].found.lists += 1
        places[place].found.innerCount += count
        places[place].found.longest = max(places[place].found.longest, count)
        places[place].found.innerBytes += cursor.at - start
    }

    // MARK: Choosing

    /// Ends the sample: decides what to look for in all elements.
    private mutating func choose() {
        let holders = places.indices.filter {
            places[$0].parent == 0 && places[$0].found.count == count && places[$0].found.objectBytes * 2 > bytes
        }
        let hasTexts = places.contains {
            $0.parent == 0 && $0.found.texts > $0.found.measures && !IDName.kinds.contains($0.name)
        }
        subject = hasTexts ? 0 : holders.first ?? 0
        let inAll = places.indices.filter { places[$0].hasIDs(of: count) && count > 0 }
        let best = inAll.sorted { (score($1), $0) < (score($0), $1) }.prefix(Self.maxIDs)
        let ids = Set(best + inAll.filter { IDName.kinds.contains(places[$0].name) }.prefix(2))
        let others = places.indices.filter { places[$0].hasLists || places[$0].isExpansion }
        for place in places.indices {
            (places[place].isWanted, places[place].found) = (false, Findings())
            places[place].seen = ids.contains(place) ? [] : nil
        }
        for place in ids.union(others) {
            var step = place
            while step >= 0 {
                places[step].isWanted = true
                step = places[step].parent
            }
        }
        (isSample, count, bytes) = (false, 0, 0)
    }

    /// The combinations worth another look; none if a member is sure. `isNested`: the elements are of several lists.
    private func combinations(isNested: Bool) -> [Combination] {
        let ids = places.indices.filter { places[$0].seen != nil && places[$0].hasIDs(of: count) && !isUnique($0) }
        let named = ids.filter { isNamed($0) }.sorted { (score($1), $0) < (score($0), $1) }
        let sure = identities.first(where: \.isSure)?.place
        let id = [sure, named.first].compactMap(\.self).first { places[$0].name.elementsEqual("id".utf8) }
        if let id, let type = type(beside: id), sure == nil || isOfResources(type) {
            return [Combination(places: [type, id])]
        }
        guard count > 1, sure == nil else { return [] }
        let texts = ids.filter { places[$0].found.texts == count && places[$0].found.measures == 0 && !isNamed($0) }
        let parts = (named + (count >= Self.many.texts ? texts : [])).prefix(Self.maxParts)
        let scoped = isNested ? (named + texts).prefix(2) : []
        var found = scoped.map { Combination(places: [$0], isScoped: true) }
        for (index, one) in parts.enumerated() {
            found += parts[..<index].map {
                Combination(places: [min(one, $0), max(one, $0)], isSure: count >= Self.many.ids)
            }
        }
        return found
    }

    func isUnique(_ place: Int) -> Bool { places[place].seen?.count == count }

    /// Whether a place's name says that its values are ids.
    func isNamed(_ place: Int) -> Bool { score(place) >= IDName.sure && places[place].found.measures == 0 }

    private func type(beside id: Int) -> Int? {
        places.indices.first {
            places[$0].parent == places[id].parent && places[$0].name.elementsEqual("type".utf8)
                && places[$0].seen != nil && places[$0].hasIDs(of: count)
        }
    }
}

extension JSONString {
    /// Whether this is a number with a fraction: `12.50`.
    fileprivate var isDecimal: Bool {
        let bytes = UnsafeRawBufferPointer(start: start, count: count)
        let parts = (bytes.first == UInt8(ascii: "-") ? bytes.dropFirst() : bytes[...]).split(
            separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count == 2 && parts.allSatisfy { !$0.isEmpty && $0.allSatisfy(\.isDigit) }
    }

    /// Whether this begins like a date, or is a time of day (RFC 3339): `2026-11-28T08:15:00Z`, `08:15`.
    fileprivate var isTime: Bool {
        let bytes = UnsafeRawBufferPointer(start: start, count: count)
        guard let first = bytes.first, first.isDigit else { return false }
        if count >= 10 { return bytes[4] == UInt8(ascii: "-") && bytes[7] == UInt8(ascii: "-") && bytes[8].isDigit }
        return (5...8).contains(count) && bytes[2] == UInt8(ascii: ":") && bytes[4].isDigit
    }
}
