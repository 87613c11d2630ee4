import Glibc

/// The value of Host, or the authority of a target: `uri-host [ ":" port ]` (RFC 9110 §7.2, RFC 3986 §3.2.2).
///
/// Stricter than the grammar: no empty host, no percent-encoding or sub-delimiters, no empty label, no numeric host
/// other than a dotted-decimal IPv4 address, no IPv6 zone, no port above 65535. Only mistakes and attacks use those.
package enum HostValue {
    package static func isValid(_ value: UnsafeRawBufferPointer) -> Bool {
        guard let first = value.first else { return false }
        if first == UInt8(ascii: "[") {
            guard let end = value.position(of: UInt8(ascii: "]"), from: 1) else { return false }
            return isAddress(value.slice(1, end), AF_INET6) && isPortSuffix(value.slice(end + 1, value.count))
        }
        let end = value.position(of: UInt8(ascii: ":"), from: 0) ?? value.count
        return isName(value.slice(0, end)) && isPortSuffix(value.slice(end, value.count))
    }

    /// Empty, or a colon and an optional port.
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
        return !name.isEmpty && (!isNumeric(name, label) || isAddress(name, AF_INET))
    }

    /// Whether a label looks like a number, so that a lenient resolver would read the name as an address (`0x7f.1`,
    /// `2130706433`).
    private static func isNumeric(_ name: UnsafeRawBufferPointer, _ label: Range<Int>) -> Bool {
        let label = name.slice(label)
        if label.allSatisfy(\.isDigit) { return true }
        return label.count > 2 && label.slice(0, 2).spellsIgnoringCase("0x")
            && label.slice(2, label.count).allSatisfy { OctetSet.hex.contains($0) }
    }

    /// For IPv4, inet_pton(3) accepts four numbers without leading zeros, and nothing else.
    private static func isAddress(_ text: UnsafeRawBufferPointer, _ family: Int32) -> Bool {
        var address = in6_addr()
        return text.position(of: 0, from: 0) == nil
            && inet_pton(family, String(decoding: text, as: UTF8.self), &address) == 1
    }
}
