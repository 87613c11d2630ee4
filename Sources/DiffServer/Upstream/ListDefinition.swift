/// What the file says of one list, or of all lists whose names match a pattern. A reference, since all of its sessions
/// share it.
final class ListDefinition: Sendable {
    /// The names of its sessions. Its text is the list's name in the log and in metrics.
    let name: NamePattern
    /// As PUT would set them.
    let settings: Session.SettingsChange
    /// Nil if states are posted.
    let source: Source?
    /// Nil if edits need nobody's consent.
    let hook: Hook?

    init(name: NamePattern, settings: Session.SettingsChange, source: Source?, hook: Hook?) {
        (self.name, self.settings, self.source, self.hook) = (name, settings, source, hook)
    }

    /// Where the state comes from.
    struct Source: Sendable, Equatable {
        let url: URLTemplate
        /// The interval between fetches.
        var every = Duration.seconds(5)
        /// Of one fetch.
        var timeout = Duration.seconds(10)
        var headers: [RequestHeader] = []
    }

    /// Who decides about edits.
    struct Hook: Sendable, Equatable {
        let url: URLTemplate
        /// Of one call.
        var timeout = Duration.seconds(2)
        let secret: WebhookSecret
    }
}

extension ListDefinition: Equatable {
    /// By value: reading the file again leaves alone what it does not change.
    static func == (one: ListDefinition, other: ListDefinition) -> Bool {
        one.name == other.name && one.settings == other.settings && one.source == other.source
            && one.hook == other.hook
    }
}
