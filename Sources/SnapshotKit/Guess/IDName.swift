/// How much a name looks like an id's.
enum IDName {
    static let kinds = Set(["kind", "type", "__typename", "$type", "@type"].map { Array($0.utf8) })

    /// From this score on a name says that its values are ids.
    static let sure = 30
    /// The score of a name that says nothing, and of the least likely one that is still shown to a person.
    static let nameless = (text: 20, number: 10)

    /// From 5, for what may change, to 100, for `id`.
    static func score(_ names: [[UInt8]], isText: Bool) -> Int {
        let texts = names.map { String(decoding: $0, as: UTF8.self) }
        // XML and BSON written as JSON put a text into a member of its own.
        let isWrapped = texts.count > 1 && texts.last.map { textual.contains($0) } == true
        let path = isWrapped ? Array(texts.dropLast()) : texts
        let least = isText ? nameless.text : nameless.number
        guard let name = path.last else { return least }
        var own = score(name) ?? least
        // An id may be an object, such as `{"$oid":…}`. A value in any other object may be the id of that object.
        let around = path.dropLast()
        let isOfID = around.last.flatMap(score).map { $0 >= 90 } ?? false
        if isOfID { own = 85 + own / 10 }
        let isOwn = isOfID || around.allSatisfy { wrappers.contains($0.lowercased()) }
        return own - (path.count - 1) * 2 - (isOwn ? 0 : min(own - 5, 70))
    }

    private static func score(_ name: String) -> Int? {
        let plain = String(decoding: name.lowercased().utf8.filter { !"_-@$.: ".utf8.contains($0) }, as: UTF8.self)
        if let known = known[plain] { return known }
        if fleeting.contains(where: plain.contains) { return 5 }
        guard plain.count > 2, !others.contains(where: plain.hasPrefix) else { return nil }
        let words = words(of: name)
        switch words.last {
        case "id" where words.count > 1: return 80
        case "key" where words.count > 1: return secret.contains(words[words.count - 2]) ? nil : 80
        case "no", "nr", "num", "number", "code", "slug", "sku", "ref", "reference":
            return words.count > 1 && !numbered.contains(words[words.count - 2]) ? 70 : nil
        case "url" where words.count > 1: return 22
        default: break
        }
        if ["uuid", "guid"].contains(where: plain.hasSuffix) { return 80 }
        return plain.hasSuffix("id") && !endings.contains(plain) ? 50 : nil
    }

    /// The words of a name in lower case: `orderNo`, `order_no` and `Order-No` have two.
    static func words(of name: String) -> [String] {
        var spaced = ""
        for character in name {
            if character.isUppercase, spaced.last?.isUppercase == false { spaced.append(" ") }
            spaced.append(character)
        }
        return spaced.split { !$0.isLetter && !$0.isNumber }.map { $0.lowercased() }
    }

    private static let known: [String: Int] = {
        var known: [String: Int] = [:]
        for (score, names) in [
            (100, "id"), (90, "uuid guid uid key slug sku isbn sha objectid uniqueid globalid identifier"),
            (90, "iban isin ean gtin upc doi vin imei mmsi icao24"),
            (60, "url uri href link self permalink path code iso iso2 iso3 number no nr reference ref cursor hash"),
            (60, "login"), (58, "username email handle ticker domain filename address"), (45, "symbol"), (40, "name"),
            (28, "title label"), (25, "version"),
        ] {
            for name in names.split(separator: " ") { known[String(name)] = score }
        }
        return known
    }()
    /// Parts of names of values that change while the element stays.
    private static let fleeting = ["etag", "updated", "modified", "changed", "position", "rank", "index", "sequence"]
    /// Beginnings of names of another element's id.
    private static let others = [
        "parent", "prev", "next", "last", "latest", "reply", "inreply", "root", "created", "updated", "deleted",
        "assigned",
    ]
    /// What a key may be for without telling elements apart.
    private static let secret: Set<String> = ["api", "access", "public", "private", "secret", "sort"]
    /// What a number or a code may be of without telling elements apart.
    private static let numbered: Set<String> = [
        "weather", "status", "error", "color", "colour", "response", "result", "condition", "page", "line", "row",
        "phone", "area", "zip", "post", "postal", "version", "build",
    ]
    /// Words that end like an id.
    private static let endings: Set<String> = [
        "acid", "aid", "android", "arid", "asteroid", "avoid", "bid", "centroid", "covid", "fluid", "grid", "humid",
        "hybrid", "invalid", "kid", "lid", "lipid", "liquid", "mid", "orchid", "paid", "prepaid", "pyramid", "raid",
        "rapid", "rigid", "said", "solid", "splendid", "squid", "steroid", "stupid", "thyroid", "unpaid", "valid",
        "vivid", "void",
    ]
    private static let textual: Set<String> = ["#text", "_", "$", "$t", "_text", "text", "value", "__text", "$oid"]
    private static let wrappers: Set<String> = [
        "node", "data", "properties", "attributes", "metadata", "meta", "resource", "item", "fields", "_source",
        "source", "record", "post", "document", "doc", "object", "value", "entity", "content", "info", "attr", "$",
        "links", "_links", "self",
    ]
}
