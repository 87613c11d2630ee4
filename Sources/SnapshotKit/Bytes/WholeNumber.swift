extension StringProtocol {
    /// Digits as a number; one that does not fit is as large as can be. Nil for anything else.
    package var wholeNumber: Int? {
        guard !isEmpty, utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) else { return nil }
        return Int(self) ?? .max
    }
}
