import HTTPCore

/// What a node of a cluster says in place of an answer; the command was not executed.
enum RedisRedirection: Equatable {
    /// The slot is that primary's.
    case moved(slot: Int, ConnectAddress)
    /// The slot is on its way to that primary, and so is this key, or would be if it were there: ask there, this time.
    case ask(ConnectAddress)
    /// Some of the keys are on their way: soon.
    case later
    /// The cluster serves nobody, or nobody has the slot.
    case down

    /// Nil for an error that is none.
    ///
    /// - Parameter speaker: the node that says so.
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
