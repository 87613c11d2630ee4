/// What limits per peer apply to: an IPv4 address, or the /64 of an IPv6 address.
///
/// A site gets at least a /64 (RFC 6177 §2), and its machines change addresses within it at will (RFC 8981), so a
/// limit per IPv6 address would limit nobody. An IPv4 address mapped into IPv6 (RFC 4291 §2.5.5.2) counts as IPv4: a
/// client is one peer, whichever listener it uses.
public enum PeerNetwork: Sendable, Hashable {
    /// An IPv4 address in host order.
    case v4(UInt32)
    /// The first 64 bits of an IPv6 address in host order; `scope` is the interface of a link-local one.
    case v6(prefix: UInt64, scope: UInt32)

    /// The network of an address; nil for a Unix socket, which is protected by its permissions alone.
    public init?(_ address: SocketAddress) {
        switch address {
        case .v4(let address, _): self = .v4(address)
        case .v6(let high, let low, _, let scope):
            let isMapped = high == 0 && low >> 32 == 0xFFFF
            self = isMapped ? .v4(UInt32(truncatingIfNeeded: low)) : .v6(prefix: high, scope: scope)
        case .unix: return nil
        }
    }
}
