/// Ends the process with a message if a claim is false, so that the fuzzer keeps the input.
public func check(_ claim: Bool, _ message: @autoclosure () -> String, file: StaticString = #file, line: UInt = #line) {
    if !claim { fatalError(message(), file: file, line: line) }
}
