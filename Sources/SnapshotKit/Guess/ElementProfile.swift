/// What the elements of a list have in common: which values tell them apart, and which lists are in them. The first
/// elements decide what to look for; then all elements are searched for that alone.
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
        /// The following count elements with a value here: of any kind, one that could be an id, a string, a list.
        var count = 0
        var ids = 0
        var texts = 0
        var lists = 0
        /// Elements of these lists, of the longest of them, and their bytes.
        var innerCount = 0
        var longest = 0
        var innerBytes = 0
        /// Whether ids and lists are looked at here, or further below.
        var isWanted = true
        /// Hashes of the ids seen so far, if they are compared.
        var seen: Set<UInt64>?
        /// The hash of this element's id.
        var current: UInt64?

        /// Whether all elements have an id here.
        func hasIDs(of elements: Int) -> Bool { ids == elements }
        /// Whether there are lists of objects here, and nothing else.
        var hasLists: Bool { innerCount > 0 && lists == count }
    }

    /// Names of objects around an id.
    private static let maxLevel = 3
    private static let maxPlaces = 64
    /// Elements that decide what to look for.
    static let sample = 32
    /// The most places whose ids are compared.
    private static let maxIDs = 6

    /// The first is the element itself.
    private(set) var places = [Place(parent: -1, name: [], level: 0)]
    /// Elements, and their bytes.
    private(set) var count = 0
    private(set) var bytes = 0
    /// Whether only the first elements were taken.
    private var isSample = true
    /// `type` and `id`, which may tell elements apart together, and their hashes.
    private var pair: (type: Int, id: Int)?
    private var pairs: Set<UInt64> = []

    /// Profiles the elements of a list, or those of the lists at `inner` in its elements. O(bytes).
    init(of list: FoundList, at inner: JSONPointer? = nil) {
        list.forEach(at: inner, upTo: Self.sample) { take(&$0) }
        choose()
        list.forEach(at: inner) { take(&$0) }
    }

    /// Profiles the first elements alone. O(bytes of those).
    init(sampleOf list: FoundList, at inner: JSONPointer? = nil) {
        list.forEach(at: inner, upTo: Self.sample) { take(&$0) }
    }

    // MARK: Looking

    /// Takes an element.
    private mutating func take(_ cursor: inout JSONCursor) {
        let start = cursor.at
        count += 1
        takeValue(&cursor, at: 0)
        bytes += cursor.at - start
        guard let pair, let type = places[pair.type].current, let id = places[pair.id].current else { return }
        pairs.insert(type &* 0x9E37_79B9_7F4A_7C15 ^ id)
    }

    private mutating func takeValue(_ cursor: inout JSONCursor, at place: Int) {
        places[place].count += 1
        guard places[place].isWanted else { return cursor.skipValue() }
        switch cursor.byte {
        case UInt8(ascii: "{") where places[place].level < Self.maxLevel: takeMembers(&cursor, of: place)
        case UInt8(ascii: "["): takeList(&cursor, at: place)
        case UInt8(ascii: "\""):
            let text = cursor.takeString()
            guard text.count > 0, text.count <= StateLimits.maxIDBytes else { return }
            places[place].texts += 1
            takeID(text, at: place)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            let token = cursor.takeToken()
            guard token.count <= StateLimits.maxIDBytes, !token.contains(where: { ".eE".utf8.contains($0) }) else {
                return
            }
            takeID(JSONString(start: token.baseAddress!, count: token.count, isEscaped: false), at: place)
        default: cursor.skipValue()
        }
    }

    private mutating func takeMembers(_ cursor: inout JSONCursor, of parent: Int) {
        guard cursor.enter() else { return }
        var last = parent
        repeat {
            let name = cursor.takeName()
            guard let place = place(name, in: parent, behind: last) else {
                cursor.skipValue()
                continue
            }
            last = place
            takeValue(&cursor, at: place)
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
        places[place].ids += 1
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
        places[place].lists += 1
        places[place].innerCount += count
        places[place].longest = max(places[place].longest, count)
        places[place].innerBytes += cursor.at - start
    }

    // MARK: Choosing

    /// Ends the sample: decides what to look for in all elements.
    private mutating func choose() {
        let inAll = places.indices.filter { places[$0].hasIDs(of: count) && count > 0 }
        let best = inAll.sorted { (score($1), $0) < (score($0), $1) }.prefix(Self.maxIDs)
        let kinds = inAll.filter { IDName.kinds.contains(places[$0].name) }.prefix(2)
        pair = Self.pair(of: inAll, in: places)
        let ids = Set(best + kinds + (pair.map { [$0.type, $0.id] } ?? []))
        let lists = places.indices.filter { places[$0].hasLists }
        for place in places.indices {
            places[place].isWanted = false
            places[place].seen = ids.contains(place) ? [] : nil
            (places[place].ids, places[place].texts, places[place].count) = (0, 0, 0)
            (places[place].lists, places[place].innerCount, places[place].innerBytes) = (0, 0, 0)
            places[place].longest = 0
        }
        for place in ids.union(lists) {
            var step = place
            while step >= 0 {
                places[step].isWanted = true
                step = places[step].parent
            }
        }
        (isSample, count, bytes) = (false, 0, 0)
    }

    private static func pair(of ids: [Int], in places: [Place]) -> (type: Int, id: Int)? {
        for id in ids where places[id].name.elementsEqual("id".utf8) {
            let type = ids.first {
                places[$0].parent == places[id].parent && places[$0].name.elementsEqual("type".utf8)
            }
            if let type { return (type, id) }
        }
        return nil
    }

    // MARK: What was found

    /// The names that lead to a place from an element.
    func names(_ place: Int) -> [[UInt8]] {
        var names: [[UInt8]] = []
        var step = place
        while step > 0 {
            names.append(places[step].name)
            step = places[step].parent
        }
        return names.reversed()
    }

    func pointer(_ place: Int) -> JSONPointer { JSONPointer(tokens: names(place)) }

    private func score(_ place: Int) -> Int {
        IDName.score(names(place), isText: places[place].texts == places[place].ids)
    }

    /// What tells elements apart.
    struct Identity {
        let idAt: [JSONPointer]
        /// From 0 to 100.
        let score: Int
        /// Whether each element has an id of its own.
        let isUnique: Bool
        /// The place of the id.
        fileprivate let place: Int
    }

    /// The best of them; nil if elements have nothing that could be an id.
    func identity() -> Identity? {
        guard count > 0 else { return nil }
        var best: Identity?
        for (place, value) in places.enumerated() {
            guard let seen = value.seen, value.hasIDs(of: count) else { continue }
            let isUnique = seen.count == count
            guard isUnique || seen.count * 2 >= count else { continue }
            // Taking the first of several elements with one id is better than a title, and worse than a URL.
            let score = score(place) - (isUnique ? 0 : 45)
            guard score > best?.score ?? 0 else { continue }
            best = Identity(idAt: [pointer(place)], score: score, isUnique: isUnique, place: place)
        }
        guard let pair, pairs.count == count, places[pair.type].hasIDs(of: count), places[pair.id].hasIDs(of: count),
            best?.isUnique != true || best?.place == pair.id && isOfResources(pair.type)
        else { return best }
        return Identity(idAt: [pointer(pair.type), pointer(pair.id)], score: 95, isUnique: true, place: pair.id)
    }

    /// Whether elements are resources of several types, as in JSON:API, whose ids are unique within a type alone.
    private func isOfResources(_ type: Int) -> Bool {
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

    /// Places of lists of objects, the largest first.
    var lists: [Int] {
        places.indices.filter { places[$0].hasLists }.sorted { places[$0].innerBytes > places[$1].innerBytes }
    }

    /// The names of the elements' members.
    var memberNames: Set<[UInt8]> { Set(places.filter { $0.parent == 0 }.map(\.name)) }

    /// In hundredths, how much of what any element has is in each; 0 if they have nothing in common.
    var likeness: Int {
        let members = places.filter { $0.parent == 0 }
        guard let most = members.map(\.count).max(), most * 4 >= count * 3 else { return 0 }
        return members.reduce(0) { $0 + $1.count } * 100 / (members.count * count)
    }

    /// Whether other elements look like these, and have their ids in the same place.
    func resembles(_ other: ElementProfile, _ identity: Identity) -> Bool {
        let (names, others) = (memberNames, other.memberNames)
        guard names.intersection(others).count * 2 > others.count else { return false }
        return identity.idAt.allSatisfy { id in
            other.places.indices.contains { other.pointer($0) == id && other.places[$0].hasIDs(of: other.count) }
        }
    }
}

// MARK: - Names

/// How much a name looks like an id's.
enum IDName {
    static let kinds = Set(["kind", "type", "__typename", "$type", "@type"].map { Array($0.utf8) })

    /// From 5, for what may change, to 100, for `id`.
    static func score(_ names: [[UInt8]], isText: Bool) -> Int {
        let texts = names.map { String(decoding: $0, as: UTF8.self) }
        // XML written as JSON puts a text into a member of its own.
        let isWrapped = texts.count > 1 && texts.last.map { textual.contains($0) } == true
        let path = isWrapped ? Array(texts.dropLast()) : texts
        guard let name = path.last else { return isText ? 20 : 10 }
        var own = score(name) ?? (isText ? 20 : 10)
        // An id may be an object, such as `{"$oid":…}`. A value in any other object may be the id of that object.
        let around = path.dropLast()
        let isOfID = around.last.flatMap(score).map { $0 >= 90 } ?? false
        if isOfID { own = 85 + own / 10 }
        let isOwn = isOfID || around.allSatisfy { wrappers.contains($0.lowercased()) }
        return own - (path.count - 1) * 2 - (isOwn ? 0 : min(own - 5, 70))
    }

    private static func score(_ name: String) -> Int? {
        let plain = String(decoding: name.lowercased().utf8.filter { !"_-@$.: ".utf8.contains($0) }, as: UTF8.self)
        if plain == "id" { return 100 }
        if strong.contains(plain) { return 90 }
        if fair.contains(plain) { return 60 }
        if ["name", "label"].contains(plain) { return 40 }
        if plain == "title" { return 30 }
        if fleeting.contains(where: plain.contains) { return 5 }
        guard plain.count > 2, !others.contains(where: plain.hasPrefix) else { return nil }
        if ["Id", "ID", "_id", "-id", ".id", ":id", "Key", "_key"].contains(where: name.hasSuffix) { return 80 }
        if ["uuid", "guid"].contains(where: plain.hasSuffix) { return 80 }
        return plain.hasSuffix("id") ? 50 : nil
    }

    private static let strong: Set<String> = [
        "uuid", "guid", "uid", "key", "slug", "sku", "isbn", "sha", "objectid", "uniqueid", "globalid", "identifier",
    ]
    private static let fair: Set<String> = [
        "url", "uri", "href", "link", "permalink", "path", "code", "symbol", "iso", "iso2", "iso3", "number",
        "reference", "ref", "cursor", "hash", "login", "username", "email", "handle", "ticker", "domain", "filename",
    ]
    /// Parts of names of values that change while the element stays.
    private static let fleeting = ["etag", "updated", "modified", "changed", "version", "position", "rank", "index"]
    /// Beginnings of names of another element's id.
    private static let others = ["parent", "prev", "next", "reply", "inreply", "root"]
    private static let textual: Set<String> = ["#text", "_", "$", "$t", "_text", "text", "value", "__text"]
    private static let wrappers: Set<String> = [
        "node", "data", "properties", "attributes", "metadata", "meta", "resource", "item", "fields", "_source",
        "source", "record", "post", "document", "doc", "object", "value", "entity", "content", "info", "attr", "$",
    ]
}
