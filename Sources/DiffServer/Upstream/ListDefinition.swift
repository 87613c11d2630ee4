/// What a file says of one list, or of many whose names are alike.
///
/// A reference: it goes along with every session that is of it.
final class ListDefinition: Sendable {
    /// The names of the sessions that it is about; its text names it in the log and in metrics.
    let name: NamePattern
    /// Those of PUT.
    let settings: Session.SettingsChange
    /// Where its state comes from; nil where writers bring it.
    let source: Source?
    /// Who is asked about edits; nil where nobody is.
    let hook: Hook?

    init(name: NamePattern, settings: Session.SettingsChange, source: Source?, hook: Hook?) {
        (self.name, self.settings, self.source, self.hook) = (name, settings, source, hook)
    }

    /// Where a state comes from.
    struct Source: Sendable, Equatable {
        let url: URLTemplate
        /// Between two fetches.
        var every = Duration.seconds(5)
        /// For one fetch.
        var timeout = Duration.seconds(10)
        var headers: [RequestHeader] = []
    }

    /// Who is asked about edits.
    struct Hook: Sendable, Equatable {
        let url: URLTemplate
        /// For one call.
        var timeout = Duration.seconds(2)
        let secret: WebhookSecret
    }
}

extension ListDefinition: Equatable {
    /// Whether both say the same, so that a file that is read again leaves alone what it did not change.
    static func == (one: ListDefinition, other: ListDefinition) -> Bool {
        one === other
            || one.name == other.name && one.settings == other.settings && one.source == other.source
                && one.hook == other.hook
    }
}
