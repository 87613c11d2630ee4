import SnapshotKit

/// What a writer is told of what it sent, though that was accepted.
struct Warnings {
    private var places: [StateWarning]
    /// Whether the ids are new of rows that are not.
    private var hasIdentityChurn = false

    init(_ places: [StateWarning] = []) { self.places = places }

    /// The same, and what there is to be told of a change.
    func adding(_ changeset: Changeset) -> Warnings {
        var warnings = self
        warnings.hasIdentityChurn = changeset.showsIdentityChurn
        return warnings
    }

    /// The same without those about items that a reader does not see in any of some states.
    func seen(in states: @autoclosure () -> [Snapshot], _ sight: Sight) -> Warnings {
        guard !sight.views.isEmpty, !places.isEmpty else { return self }
        let states = states()
        var warnings = self
        warnings.places.removeAll { place in !states.contains { $0.item(withID: place.id.text) != nil } }
        return warnings
    }

    var isEmpty: Bool { places.isEmpty && !hasIdentityChurn }

    /// Writes them as the next member of an object; none are none. At most 20.
    func write(into writer: inout JSONWriter) {
        if isEmpty { return }
        writer.append(",\"warnings\":[")
        if hasIdentityChurn { writer.append("{\"code\":\"identity-churn\"}") }
        for (index, place) in places.prefix(StateWarning.most - (hasIdentityChurn ? 1 : 0)).enumerated() {
            if index > 0 || hasIdentityChurn { writer.append(byte: UInt8(ascii: ",")) }
            writer.append("{\"code\":")
            writer.append(string: place.code)
            writer.append(",\"pointer\":")
            writer.append(string: place.pointer)
            writer.append(",\"id\":")
            writer.append(id: place.id)
            writer.append(byte: UInt8(ascii: "}"))
        }
        writer.append(byte: UInt8(ascii: "]"))
    }
}
