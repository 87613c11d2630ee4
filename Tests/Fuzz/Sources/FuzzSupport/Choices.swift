/// The fuzzer's bytes as a source of choices; zeros once they are used up.
struct Choices {
    private let bytes: [UInt8]
    private var at = 0

    /// Choices from these bytes.
    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Whether all bytes were used.
    var isEmpty: Bool { at >= bytes.count }

    /// A number below `bound`.
    mutating func next(_ bound: Int) -> Int {
        guard at < bytes.count else { return 0 }
        at += 1
        return Int(bytes[at - 1]) % bound
    }

    /// True once in `bound` times.
    mutating func once(in bound: Int) -> Bool { !isEmpty && next(bound) == 0 }
}

/// States made of choices: every byte sequence is a valid one.
struct StateMaker {
    /// The choices that are left.
    var choices: Choices
    private var used: Set<Int> = []
    private var sectionIDs: [Int] = []

    /// A generator that takes its numbers from choices.
    init(_ bytes: [UInt8]) { choices = Choices(bytes) }

    /// A state as JSON. Ids come from a small set, so that two states have many in common.
    mutating func state() -> [UInt8] {
        used = []
        sectionIDs = []
        var text = #"{"sections":["#
        for index in 0..<choices.next(5) {
            if index > 0 { text += "," }
            text += section()
        }
        text += choices.once(in: 4) ? #"],"content":\#(content())}"# : "]}"
        return Array(text.utf8)
    }

    private mutating func section() -> String {
        var id = choices.next(8)
        while sectionIDs.contains(id) { id = (id + 1) % 8 }
        sectionIDs.append(id)
        var text = #"{"id":\#(Self.name(id))"#
        if choices.once(in: 3) { text += #","content":\#(content())"# }
        if choices.once(in: 8) { text += #","expanded":false"# }
        return text + #","items":[\#(items(level: 0))]}"#
    }

    private mutating func items(level: Int) -> String {
        (0..<choices.next(level == 0 ? 12 : 4)).map { _ in item(level: level) }.joined(separator: ",")
    }

    private mutating func item(level: Int) -> String {
        var id = choices.next(64)
        while used.contains(id) { id += 1 }
        used.insert(id)
        let kind = choices.next(16)
        if kind < 3 { return Self.name(id) }
        var text = #"{"id":\#(Self.name(id))"#
        if kind < 12 { text += #", "content":\#(content())"# }
        if kind % 4 == 1 { text += #","kind":"k\#(choices.next(3))""# }
        if kind % 8 == 2 { text += #","expanded":false"# }
        if level < 5, kind > 11 { text += #","items":[\#(items(level: level + 1))]"# }
        return text + "}"
    }

    private mutating func content() -> String {
        let values = [
            "1", "1.0", "null", "true", #""a""#, #""\u0061""#, #""é""#, #""\u00e9""#, "[]", "[1,2]", "[1, 2]", "{}",
            #"{"a":1,"b":2}"#, #"{"b":2,"a":1}"#, #"{ "a" : 1 , "b" : 2 }"#, #"{"a":1,"b":3}"#, #"{"a":1}"#,
            #"{"\u0061":1,"b":{"c":[1],"d/~e":null}}"#, #"{"b":{"d/~e":null,"c":[1]},"a":1}"#,
            #"{"b":{"d/~e":"x"},"a":1}"#,
        ]
        return values[choices.next(values.count)]
    }

    /// Ids of every form: numbers, strings, the same written with escapes.
    static func name(_ id: Int) -> String {
        switch id % 8 {
        case 0: "\(id)"
        case 1: #""\#(id)""#
        case 2: #""\u0061\#(id)""#
        case 3: #""é-\#(id)""#
        case 4: #""an id of more than thirty-two bytes, \#(id)""#
        default: #""i\#(id)""#
        }
    }
}
