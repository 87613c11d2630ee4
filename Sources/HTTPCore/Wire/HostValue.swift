import Glibc

/// The value of Host, or the authority of a target: `uri-host [ ":" port ]` (RFC 9110 §7.2, RFC 3986 §3.2.2).
///
/// Stricter than the grammar where only mistakes and attacks use it: no empty host, no percent-encoding or
/// sub-delimiters, no empty label, no number that is not a dotted-decimal IPv4 address, no IPv6 zone, no port above
/// 65535.
package enum HostValue {
    /// Whether octets are one.
    package static func isValid(_ value: UnsafeRawBufferPointer) -> Bool {
        guard let first = value.first else { return false }
        if first == UInt8(ascii: "[") {
            guard let end = value.position(of: UInt8(ascii: "]"), from: 1) else { return false }
            return isIPv6(value.slice(1, end)) && isPortSuffix(value.slice(end + 1, value.count))
        }
        let end = value.position(of: UInt8(ascii: ":"), from: 0) ?? value.count
        return isName(value.slice(0, end)) && isPortSuffix(value.slice(end, value.count))
    }

    /// Nothing, or a colon and at most a port.
    private static func isPortSuffix(_ text: UnsafeRawBufferPointer) -> Bool {
        guard let colon = text.first else { return true }
        guard colon == UInt8(ascii: ":") else { return false }
        var port = 0
        for octet in text.dropFirst() {
            guard octet.isDigit else { return false }
            port = port * 10 + Int(octet - 0x30)
            guard port <= 65535 else { return false }
        }
        return true
    }

    private static func isName(_ name: UnsafeRawBufferPointer) -> Bool {
        var start = 0
        var label = 0..<0
        while label.upperBound < name.count {
            let end = name.position(of: UInt8(ascii: "."), from: start) ?? name.count
            // One dot may end the name; no other label is empty.
            if start == end { return end == name.count && !isNumeric(name, label) }
            guard name.slice(start, end).allSatisfy({ OctetSet.unreserved.contains($0) }) else { return false }
            label = start..<end
            start = end + 1
        }
        return !name.isEmpty && (!isNumeric(name, label) || isIPv4(name))
    }

    /// Whether a label reads as a number, so that a lenient resolver would take the name for an address (`0x7f.1`,
    /// `2130706433`).
    private static func isNumeric(_ name: UnsafeRawBufferPointer, _ label: Range<Int>) -> Bool {
        let label = name.slice(label.lowerBound, label.upperBound)
        if label.allSatisfy(\.isDigit) { return true }
        return label.count > 2 && label.slice(0, 2).spellsIgnoringCase("0x")
            && label.slice(2, label.count).allSatisfy { OctetSet.hex.contains($0) }
    }

    /// Four numbers up to 255 without leading zeros; the caller has seen that the last label is a number.
    private static func isIPv4(_ text: UnsafeRawBufferPointer) -> Bool {
        var dots = 0
        var number = -1
        for octet in text {
            if octet == UInt8(ascii: ".") {
                dots += 1
                number = -1
            } else {
                guard octet.isDigit, number != 0 else { return false }
                number = max(number, 0) * 10 + Int(octet - 0x30)
                guard number <= 255 else { return false }
            }
        }
        return dots == 3 && number >= 0
    }

    private static func isIPv6(_ text: UnsafeRawBufferPointer) -> Bool {
        var address = in6_addr()
        return withCString(text) { inet_pton(AF_INET6, $0, &address) == 1 }
    }

    /// A copy with a NUL behind it, on the stack. An address is never longer than 45 octets.
    private static func withCString(_ text: UnsafeRawBufferPointer, _ body: (UnsafePointer<CChar>) -> Bool) -> Bool {
        guard text.count < 64, text.position(of: 0, from: 0) == nil else { return false }
        return withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { copy in
            copy.copyMemory(from: text)
            copy[text.count] = 0
            return body(copy.baseAddress!.assumingMemoryBound(to: CChar.self))
        }
    }
}
