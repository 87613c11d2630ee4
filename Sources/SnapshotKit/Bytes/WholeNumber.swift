extension StringProtocol {
    /// Digits as a number, clamped to `Int.max`. Nil for anything else.
    package var wholeNumber: Int? {
        guard !isEmpty, utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) else { return nil }
        return Int(self) ?? .max
    }
}
