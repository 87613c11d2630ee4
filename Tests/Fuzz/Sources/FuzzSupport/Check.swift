/// Ends the process with a message if a claim is false, so that the fuzzer keeps the input.
func check(_ claim: Bool, _ message: @autoclosure () -> String, file: StaticString = #file, line: UInt = #line) {
    if !claim { fatalError(message(), file: file, line: line) }
}

/// The tree of a text, which must be JSON.
func tree(_ json: [UInt8], _ what: String) -> Tree {
    do { return try TreeParser.tree(json) } catch { fatalError("\(what) is no JSON: \(error)") }
}
