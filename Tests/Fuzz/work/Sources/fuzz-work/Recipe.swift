import SnapshotKit

/// A request as a few numbers: small enough to keep, to read, and to change one at a time.
struct Recipe: Equatable {
    /// A number of a recipe; each is below its limit.
    enum Part: String, CaseIterable {
        /// The kind of request, a `Request.Kind`.
        case kind
        /// Items of a state, at most; sections, and levels of items besides the first.
        case rows, sections, levels
        /// The kind of contents, how deep and how wide they are, how long their names are, and whether they are
        /// escaped.
        case content, depth, width, name, escapes
        /// How items changed places, and how contents changed.
        case order, change
        /// How the answer is written.
        case dialect, style, staging
        /// Places that are left out, and segments of a pointer.
        case ignored, segments
        /// One element in this many is bad; 0: none.
        case bad
        /// Parts of an id besides the first, and what else of an element has the same place as its id.
        case parts, roles
        /// Edits of a batch, and their kind.
        case edits, edit
        /// Elements of a header that is a list.
        case elements
        case seed

        var limit: Int {
            switch self {
            case .kind: Request.Kind.allCases.count
            case .rows: 100_001
            case .sections: 200
            case .levels: 8
            case .content: Content.allCases.count
            case .depth: 56
            case .width: 20_000
            case .name: 2_000
            case .escapes: 2
            case .order: Order.allCases.count
            case .change: Change.allCases.count
            case .dialect: Dialect.allCases.count
            case .style, .staging: 2
            case .ignored, .segments: 65
            case .bad: 4
            case .parts: 4
            case .roles: 16
            case .edits: 1_001
            case .edit: EditKind.allCases.count
            case .elements: 15_000
            case .seed: 1_000_000
            }
        }
    }

    private var numbers = [Int](repeating: 0, count: Part.allCases.count)

    subscript(part: Part) -> Int {
        get { numbers[Part.allCases.firstIndex(of: part)!] }
        set { numbers[Part.allCases.firstIndex(of: part)!] = min(max(newValue, 0), part.limit - 1) }
    }

    /// Any recipe.
    init(random: inout some RandomNumberGenerator) {
        for part in Part.allCases { self[part] = Self.number(part, &random) }
    }

    /// Reads `rows=100 depth=3`; missing names are 0.
    init?(_ text: some StringProtocol) {
        for word in text.split(separator: " ") {
            let pair = word.split(separator: "=")
            guard pair.count == 2, let part = Part(rawValue: String(pair[0])), let number = Int(pair[1]) else {
                return nil
            }
            self[part] = number
        }
    }

    /// What `init` reads.
    var text: String {
        Part.allCases.filter { self[$0] != 0 }.map { "\($0.rawValue)=\(self[$0])" }.joined(separator: " ")
    }

    /// Another recipe, with one to three other numbers.
    func changed(_ random: inout some RandomNumberGenerator) -> Recipe {
        var recipe = self
        for _ in 0...Int.random(in: 0...2, using: &random) {
            let part = Part.allCases.randomElement(using: &random)!
            switch Int.random(in: 0..<4, using: &random) {
            case 0: recipe[part] *= 2
            case 1: recipe[part] += Int.random(in: -1...1, using: &random)
            default: recipe[part] = Self.number(part, &random)
            }
        }
        return recipe
    }

    /// Small numbers as often as large ones, and the ends more often than either.
    private static func number(_ part: Part, _ random: inout some RandomNumberGenerator) -> Int {
        switch Int.random(in: 0..<8, using: &random) {
        case 0: 0
        case 1: part.limit - 1
        case 2...4: Int.random(in: 0..<part.limit, using: &random)
        default: Int.random(in: 0..<min(part.limit, 12), using: &random)
        }
    }
}

/// The kind of contents.
enum Content: Int, CaseIterable {
    case none, small, deep, wide, deepAndWide, array, text, arrays
}

/// The order of items in the new state.
enum Order: Int, CaseIterable {
    case same, reversed, rotated, shuffled, others, reparented, swapped, half
}

/// How contents changed.
enum Change: Int, CaseIterable {
    case same, reordered, reorderedAndChanged, changed, spaced, otherMembers
}

/// The kind of edits in a batch.
enum EditKind: Int, CaseIterable {
    case insert, delete, move, update, collapse, clear, sections, moveIntoEachOther, reload, mixed
}
