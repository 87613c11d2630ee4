import HTTPCore

/// An error by which a node of a cluster redirects a command, which it did not execute.
enum RedisRedirection: Equatable {
    /// The slot belongs to that primary.
    case moved(slot: Int, ConnectAddress)
    /// The slot is moving to that primary, and the key has moved already, or does not exist: ask there, this once.
    case ask(ConnectAddress)
    /// Some of the keys have moved, and others have not yet: try again soon.
    case later
    /// The cluster is down, or no primary has the slot.
    case down

    /// Nil for any other error.
    ///
    /// - Parameter speaker: the node that answered.
    init?(_ error: RedisError, from speaker: ConnectAddress?) {
        switch error.code {
        case "TRYAGAIN": self = .later
        case "CLUSTERDOWN": self = .down
        case "MOVED", "ASK":
            let words = error.text.split(separator: " ")
            guard words.count == 3, let slot = Int(words[1]), 0..<SlotMap.slotCount ~= slot,
                let colon = words[2].lastIndex(of: ":"), let port = UInt16(words[2][words[2].index(after: colon)...]),
                let server = ConnectAddress.announced(host: String(words[2][..<colon]), port: port, by: speaker)
            else { return nil }
            self = error.code == "ASK" ? .ask(server) : .moved(slot: slot, server)
        default: return nil
        }
    }
}
