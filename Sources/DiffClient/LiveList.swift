import Foundation
import Observation
import SnapshotKit

#if canImport(Combine)
    import Combine
#endif

#if canImport(SwiftUI)
    import SwiftUI
#endif

/// A list that follows a session for a view, with contents decoded: what `LiveList` and `ObservedList` have in common.
@MainActor
public class ListModel<Item: Decodable & Sendable> {
    /// What a view shows.
    struct State {
        var sections: [LiveSection<Item>] = []
        var failures: [ElementID: any Error] = [:]
        var update: ListUpdate?
        var status = ListClient.Status.connecting
        var pending = ListClient.Pending.none
    }

    /// What subclasses let a view observe.
    var state = State()
    private var decoder: ItemDecoder<Item>
    private let adopt: @MainActor (ListUpdate, () -> Void) -> Void
    /// The list without pending edits.
    private var followed = FollowedList()
    private var client: ListClient?

    /// An empty list.
    ///
    /// - Parameters:
    ///   - decoder: decodes contents.
    ///   - adopting: carries out each change, so that it can be animated.
    public init(
        decoder: JSONDecoder = JSONDecoder(), adopting: @escaping @MainActor (ListUpdate, () -> Void) -> Void = { $1() }
    ) {
        self.decoder = ItemDecoder(decoder)
        adopt = adopting
    }

    /// The list, with contents decoded once per update.
    public var sections: [LiveSection<Item>] { state.sections }
    /// The rows of all sections, in order. O(n).
    public var rows: [LiveRow<Item>] { sections.flatMap(\.rows) }
    /// The list with contents as JSON, including rows whose contents are not an `Item`.
    public var list: RowList { state.update?.list ?? RowList() }
    /// The list's revision; nil before the first answer.
    public var revision: String? { state.update?.revision }
    /// The list's position among all rows, if the client has a window.
    public var window: WindowBounds? { state.update?.window }
    /// Errors of rows that are missing from `sections` because their contents are not an `Item`.
    public var failures: [ElementID: any Error] { state.failures }
    /// The state of the connection.
    public var status: ListClient.Status { state.status }
    /// The client's edits that wait for the server: `pending.count`, and for a row `pending.has(row.id)`.
    public var pending: ListClient.Pending { state.pending }
    /// Why it stopped following; nil while it follows.
    public var problem: ServerProblem? { if case .stopped(let problem) = status { problem } else { nil } }

    /// Follows a session until the task is cancelled, or trying again cannot help; then `problem` says why.
    /// Continues from the current list, so that a view that appears again receives only what it missed.
    public func follow(_ client: ListClient) async {
        state.status = .connecting
        self.client = client
        showPending()
        let later = { @Sendable [weak self] (change: @escaping @MainActor @Sendable (ListModel) -> Void) in
            // The queue keeps the order, which tasks do not guarantee.
            DispatchQueue.main.async { [weak self] in
                // A constant, since closures that run concurrently may not capture a variable.
                guard let self else { return }
                MainActor.assumeIsolated { change(self) }
            }
        }
        var observed = client
        observed.onStatus = { status in
            client.onStatus?(status)
            later { if $0.status != status { $0.state.status = status } }
        }
        observed.onPending = { pending in
            client.onPending?(pending)
            later { $0.showPending() }
        }
        do {
            for try await update in observed.updates(from: followed) {
                followed = update.followed
                show(by: update.change)
            }
        } catch { state.status = .stopped(error as? ServerProblem ?? ServerProblem(title: "\(error)")) }
    }

    /// Shows edits at once, before the first suspension, and sends them to the session. If they are refused, the
    /// rows are restored before it throws. See `ListClient.edit(_:)`.
    ///
    /// ```swift
    /// try await fires.edit(.move(row.id, at: .start))
    /// ```
    @discardableResult
    public func edit(_ edits: ListEdit...) async throws(ServerProblem) -> String { try await edit(edits) }

    /// Shows edits at once, and sends them.
    @discardableResult
    public func edit(_ edits: [ListEdit]) async throws(ServerProblem) -> String {
        try await edit { client throws(ServerProblem) in try client.json(edits) }
    }

    /// Shows edits at once, and sends them, as an array in JSON.
    @discardableResult
    public func edit(_ edits: JSONText) async throws(ServerProblem) -> String { try await edit { _ in edits } }

    private func edit(by json: (ListClient) throws(ServerProblem) -> JSONText) async throws(ServerProblem) -> String {
        guard let client else { throw ServerProblem(title: "No session is followed") }
        let revision = client.begin(try json(client))
        show(by: .keyed)
        defer { show(by: .keyed) }
        return try await revision()
    }

    /// Moves the client's window, if it has one. Rows that stay are not sent again.
    public func show(_ rows: StateWindow) { client?.window?.show(rows) }

    /// Shows the list with the edits pending now; an update may contain older ones.
    private func show(by change: ListUpdate.Change) {
        showPending()
        guard let client, let revision = followed.revision else { return }
        let next = client.queue.applied(to: followed)
        guard next != list || revision != self.revision || followed.window != window else { return }
        let update = ListUpdate(list: next, revision: revision, change: change, followed: followed)
        let sections = decoder.sections(of: next)
        adopt(update) { (state.update, state.sections, state.failures) = (update, sections, decoder.failures) }
    }

    private func showPending() { if let pending = client?.pending, pending != self.pending { state.pending = pending } }
}

/// A list for a view that follows a session.
///
/// ```swift
/// struct Fires: View {
///     @State private var fires = LiveList<Fire>()
///     let client: ListClient
///
///     var body: some View {
///         List(fires.rows) { row in Text(row.item.name) }
///             .task { await fires.follow(client) }
///     }
/// }
/// ```
@available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)
public final class LiveList<Item: Decodable & Sendable>: ListModel<Item>, Observable {
    private let registrar = ObservationRegistrar()

    override var state: State {
        get {
            registrar.access(self, keyPath: \.state)
            return super.state
        }
        set { registrar.withMutation(of: self, keyPath: \.state) { super.state = newValue } }
    }
}

#if canImport(Combine)
    /// A `LiveList` for systems before iOS 17 and macOS 14, as an `ObservableObject`.
    ///
    /// ```swift
    /// @StateObject private var fires = ObservedList<Fire>()
    /// ```
    public final class ObservedList<Item: Decodable & Sendable>: ListModel<Item>, ObservableObject {
        // Without a published property, an object's publisher is a new one each time.
        @Published private var changes = 0

        override var state: State { willSet { changes += 1 } }
    }
#endif

#if canImport(SwiftUI)
    extension ListModel {
        /// An empty list whose changes are animated, except for resets.
        public convenience init(decoder: JSONDecoder = JSONDecoder(), animation: Animation) {
            self.init(decoder: decoder) { update, change in
                if case .reset = update.change { change() } else { withAnimation(animation) { change() } }
            }
        }
    }

    #if canImport(SwiftUI, _version: 8.0)
        @available(macOS 27, iOS 27, tvOS 27, watchOS 27, visionOS 27, *)
        extension ListEdit {
            /// The move of a `reorderContainer(for:)`, which gives the ids of rows.
            public static func move<ID: ElementIDConvertible>(
                _ difference: ReorderDifference<ID, ReorderableSingleCollectionIdentifier>
            ) -> ListEdit {
                switch difference.destination.position {
                case .before(let id): .move(difference.sources, before: id)
                case .end: .move(difference.sources)
                }
            }

            /// The move of a `reorderContainer(for:in:)` whose collections are sections, by their ids.
            public static func move<ID: ElementIDConvertible, SectionID: ElementIDConvertible>(
                _ difference: ReorderDifference<ID, SectionID>
            ) -> ListEdit {
                switch difference.destination.position {
                case .before(let id): .move(difference.sources, before: id)
                case .end: .move(difference.sources, into: .section(difference.destination.collectionID))
                }
            }
        }
    #endif
#endif
