/// What follows a document in a state's buffer: padding for the scanner, and the id of the section that a shorthand
/// leaves unsaid.
enum DocumentText {
    static let trailer: [UInt8] = padding + Array("\"main\"".utf8) + padding
    static let padding = [UInt8](repeating: 0, count: JSONScanner.padding)

    /// Where the text `main` stands behind a document of `count` bytes.
    static func mainStart(_ count: Int) -> Int { count + padding.count + 1 }
}
