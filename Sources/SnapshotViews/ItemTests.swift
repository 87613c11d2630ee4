// A view has up to sixteen tests, often at one place: a search for several words, a list of alternatives. What they
// look at is found, folded, hashed and searched once an item: fifteen searches of one text cost little more than one.
// So tests name values by index.

import SnapshotKit

/// The tests that a view's items have to pass: all of them.
struct ItemTests: Sendable {
    private var tests: [Test] = []
    /// The places that tests look at. A value has its place's index times two; without its case, one more.
    private var places: [ItemPointer] = []
    private var parts: [[[UInt8]]] = []
    private var searches: [TextSearch] = []
    private var hashes: [Set<UInt64>] = []
    private var operands: [JSONText] = []

    private struct Test {
        let condition: Condition
        var end: Int
    }

    private enum Condition {
        case any
        case isAmong(value: Int, hashes: Int, Bool)
        /// The signs of a comparison with an operand that pass: from -1 to 1.
        case compares(value: Int, least: Int, most: Int, operand: Int)
        case has(value: Int, part: Int)
        case exists(value: Int, Bool)
    }

    var isEmpty: Bool { tests.isEmpty }

    var scanCount: Int { places.count }

    var footprint: Int { searches.reduce(0) { $0 + $1.footprint } }

    /// Adds a test that holds where one of those holds that are added until `endAny`; returns its index.
    mutating func addAny() -> Int {
        add(.any)
        return tests.count - 1
    }

    mutating func endAny(from start: Int) { tests[start].end = tests.count }

    mutating func add(isAmong values: [JSONSlice], _ isAmong: Bool, at place: ItemPointer, folds: Bool) {
        hashes.append(Set(values.map { $0.hash(isID: place == .id, folds: folds) }))
        add(.isAmong(value: value(at: place, folds: folds), hashes: hashes.count - 1, isAmong))
    }

    mutating func add(signs: ClosedRange<Int>, comparedTo operand: JSONText, at place: ItemPointer, folds: Bool) {
        operands.append(operand)
        let value = value(at: place, folds: folds)
        add(.compares(value: value, least: signs.lowerBound, most: signs.upperBound, operand: operands.count - 1))
    }

    mutating func add(has part: [UInt8], at place: ItemPointer, folds: Bool) {
        let value = value(at: place, folds: folds)
        parts[value].append(part)
        searches[value] = TextSearch(parts[value])
        add(.has(value: value, part: parts[value].count - 1))
    }

    mutating func add(exists: Bool, at place: ItemPointer) {
        add(.exists(value: value(at: place, folds: false), exists))
    }

    private mutating func add(_ condition: Condition) { tests.append(Test(condition: condition, end: tests.count + 1)) }

    private mutating func value(at place: ItemPointer, folds: Bool) -> Int {
        let index = places.firstIndex(of: place) ?? places.count
        if index == places.count {
            places.append(place)
            parts += [[], []]
            searches += [TextSearch([]), TextSearch([])]
        }
        return 2 * index + (folds ? 1 : 0)
    }
}

extension ItemTests {
    /// The tests of a view, applied to items of one state.
    struct Filter {
        private let tests: ItemTests
        private let columns: ColumnsView
        private var values: [Value]

        /// What is known of a value of the item looked at last.
        private struct Value {
            var item = -1
            var value = OrderedValue.absent
            var hash: UInt64?
            var found: TextSearch.Found?
            /// Keeps the text of a value that is not as the state has it.
            lazy var room = TextRoom()
        }

        init(_ tests: ItemTests, of columns: ColumnsView) {
            (self.tests, self.columns) = (tests, columns)
            values = [Value](repeating: Value(), count: tests.searches.count)
        }

        /// Whether an item passes, whatever its ancestors do. O(bytes of its content) for each place.
        mutating func passes(_ item: Int) -> Bool {
            var next = 0
            while next < tests.tests.count {
                guard holds(next, item) else { return false }
                next = tests.tests[next].end
            }
            return true
        }

        private mutating func holds(_ index: Int, _ item: Int) -> Bool {
            switch tests.tests[index].condition {
            case .any:
                var next = index + 1
                while next < tests.tests[index].end {
                    if holds(next, item) { return true }
                    next = tests.tests[next].end
                }
                return false
            case .isAmong(let value, let hashes, let isAmong):
                find(value, item)
                guard values[value].value.rank != .absent else { return !isAmong }
                let hash = values[value].hash ?? values[value].value.hash
                values[value].hash = hash
                return tests.hashes[hashes].contains(hash) == isAmong
            case .compares(let value, let least, let most, let operand):
                find(value, item)
                let value = values[value].value
                return tests.operands[operand].withBytes { bytes in
                    let operand = OrderedValue(at: bytes.baseAddress!)
                    guard value.rank == operand.rank else { return false }
                    return (least...most).contains(OrderedValue.compare(value, operand).signum())
                }
            case .has(let value, let part):
                find(value, item)
                let found = values[value].found ?? search(value)
                values[value].found = found
                return found & 1 << TextSearch.Found(part) != 0
            case .exists(let value, let exists):
                find(value, item)
                return (values[value].value.rank != .absent) == exists
            }
        }

        private mutating func find(_ index: Int, _ item: Int) {
            if values[index].item == item { return }
            let value: OrderedValue
            if index % 2 == 0 {
                value = columns.value(ofItem: item, at: tests.places[index / 2])
            } else {
                find(index - 1, item)
                value = values[index - 1].value.withoutCase(in: values[index].room)
            }
            (values[index].item, values[index].value) = (item, value)
            (values[index].hash, values[index].found) = (nil, nil)
        }

        private mutating func search(_ index: Int) -> TextSearch.Found {
            let value = values[index].value
            // The text of an id is searched, also that of a number.
            guard value.rank == .string || value.rank == .number && tests.places[index / 2] == .id else { return 0 }
            let plain = value.isEscaped ? value.withoutEscapes(in: values[index].room) : value
            return tests.searches[index].found(in: plain.text)
        }
    }
}

extension JSONSlice {
    /// A hash that equal values share; where ids are compared, `1` and `"1"` do too.
    fileprivate func hash(isID: Bool, folds: Bool) -> UInt64 {
        json.withBytes { bytes in
            let (value, room) = (OrderedValue(at: bytes.baseAddress!), TextRoom())
            let plain = folds ? value.withoutCase(in: room) : value.withoutEscapes(in: room)
            return withExtendedLifetime(room) {
                isID && plain.rank == .string ? OrderedValue(id: plain.text).hash : plain.hash
            }
        }
    }
}
