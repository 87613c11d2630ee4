import SnapshotKit

/// What a writer is told about an accepted body.
struct Warnings {
    private var places: [StateWarning]
    /// Whether unchanged rows have new ids.
    private var hasIdentityChurn = false

    init(_ places: [StateWarning] = []) { self.places = places }

    /// Adds what a changeset reveals.
    func adding(_ changeset: Changeset) -> Warnings {
        var warnings = self
        warnings.hasIdentityChurn = changeset.showsIdentityChurn
        return warnings
    }

    /// Drops warnings about items that the reader sees in none of some states.
    func seen(in states: @autoclosure () -> [Snapshot], _ projection: Projection) -> Warnings {
        guard !projection.views.isEmpty, !places.isEmpty else { return self }
        let states = states()
        var warnings = self
        warnings.places.removeAll { place in
            guard let id = place.id else { return true }
            return !states.contains { $0.item(withID: id.text) != nil }
        }
        return warnings
    }

    var isEmpty: Bool { places.isEmpty && !hasIdentityChurn }

    /// Writes them as the next member of an object, if there are any. At most 20.
    func write(into writer: inout JSONWriter) {
        if isEmpty { return }
        writer.append(",\"warnings\":[")
        if hasIdentityChurn { writer.append("{\"code\":\"identity-churn\"}") }
        for (index, place) in places.prefix(StateWarning.maxCount - (hasIdentityChurn ? 1 : 0)).enumerated() {
            if index > 0 || hasIdentityChurn { writer.append(byte: UInt8(ascii: ",")) }
            writer.append("{\"code\":")
            writer.append(string: place.code)
            writer.append(",\"pointer\":")
            writer.append(string: place.pointer)
            if let id = place.id {
                writer.append(",\"id\":")
                writer.append(id: id)
            }
            writer.append(byte: UInt8(ascii: "}"))
        }
        writer.append(byte: UInt8(ascii: "]"))
    }
}
