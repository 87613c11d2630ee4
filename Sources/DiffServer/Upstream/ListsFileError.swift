/// All faults of a file of lists, in the file's order.
struct ListsFileError: Error, Equatable {
    struct Fault: Equatable {
        /// From 1.
        let line: Int
        /// From 1, in Unicode scalars.
        let column: Int
        /// Names and rules, never a value, which may be a secret.
        let message: String
    }

    /// At least one, at most `maxFaults`.
    let faults: [Fault]

    /// Further faults are dropped.
    static let maxFaults = 1_000

    /// - Parameter places: offsets in bytes, in any order; at least one.
    init(_ places: [(offset: Int, message: String)], in text: [UInt8]) {
        precondition(!places.isEmpty, "there is no fault to report")
        let inOrder = places.enumerated().sorted { ($0.element.offset, $0.offset) < ($1.element.offset, $1.offset) }
        var (line, column, at) = (1, 1, 0)
        faults = inOrder.prefix(Self.maxFaults).map { place in
            for byte in text[at..<min(place.element.offset, text.count)] {
                if byte == UInt8(ascii: "\n") {
                    (line, column) = (line + 1, 1)
                } else if byte & 0xC0 != 0x80 {
                    column += 1
                }
            }
            at = max(at, min(place.element.offset, text.count))
            return Fault(line: line, column: column, message: Self.printable(place.element.message))
        }
    }

    /// A line for each fault, as compilers write them: `FILE:LINE:COLUMN: message`.
    func text(of path: String) -> String {
        faults.map { "\(path):\($0.line):\($0.column): \($0.message)" }.joined(separator: "\n")
    }

    /// One line of bounded length: names come from the file.
    private static func printable(_ text: String) -> String {
        let scalars = text.unicodeScalars.prefix(400).map { scalar -> Unicode.Scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: "\u{FFFD}"
            default: scalar
            }
        }
        return String(String.UnicodeScalarView(scalars)) + (scalars.count < text.unicodeScalars.count ? "…" : "")
    }
}
