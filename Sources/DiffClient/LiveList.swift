import Foundation
import Observation
import SnapshotKit

#if canImport(SwiftUI)
    import SwiftUI
#endif

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
@MainActor @Observable
public final class LiveList<Item: Decodable & Sendable> {
    /// The list, with contents decoded once per update.
    public private(set) var sections: [LiveSection<Item>] = []
    /// The list with contents as JSON, including rows whose contents are not an `Item`.
    public var list: RowList { shown?.list ?? RowList() }
    /// The list's revision; nil before the first answer.
    public var revision: String? { shown?.revision }
    /// The list's position among all rows, if the client has a window.
    public var window: WindowBounds? { shown?.window }
    /// The state of the connection.
    public private(set) var status = ListClient.Status.connecting
    /// Errors of rows that are missing from `sections` because their contents are not an `Item`.
    public private(set) var failures: [ElementID: any Error] = [:]

    private var shown: ListUpdate?
    @ObservationIgnored private var decoder: ItemDecoder<Item>
    @ObservationIgnored private let adopt: @MainActor (ListUpdate, () -> Void) -> Void
    /// The list without pending edits.
    @ObservationIgnored private var followed = FollowedList()
    @ObservationIgnored private var client: ListClient?

    /// An empty list.
    ///
    /// - Parameters:
    ///   - decoder: decodes contents.
    ///   - adopting: carries out each change, so that it can be animated.
    public init(
        decoder: JSONDecoder = JSONDecoder(),
        adopting: @escaping @MainActor (ListUpdate, () -> Void) -> Void = { $1() }
    ) {
        self.decoder = ItemDecoder(decoder)
        adopt = adopting
    }

    /// The rows of all sections, in order. O(n).
    public var rows: [LiveRow<Item>] { sections.flatMap(\.rows) }

    /// Why it stopped following; nil while it follows.
    public var problem: ServerProblem? { if case .stopped(let problem) = status { problem } else { nil } }

    /// Follows a session until the task is cancelled, or trying again cannot help; then `problem` says why.
    /// Continues from the current list, so that a view that appears again receives only what it missed.
    public func follow(_ client: ListClient) async {
        status = .connecting
        self.client = client
        var observed = client
        observed.onStatus = { [weak self] status in
            client.onStatus?(status)
            // The queue keeps the order, which tasks do not guarantee.
            DispatchQueue.main.async { [weak self] in
                // A constant, since closures that run concurrently may not capture a variable.
                guard let self else { return }
                MainActor.assumeIsolated { if self.status != status { self.status = status } }
            }
        }
        do {
            for try await update in observed.updates(from: followed) {
                followed = update.followed
                show(by: update.change)
            }
        } catch {
            status = .stopped(error as? ServerProblem ?? ServerProblem(title: "\(error)"))
        }
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
        guard let client, let revision = followed.revision else { return }
        let next = client.pending.applied(to: followed)
        guard next != list || revision != self.revision || followed.window != window else { return }
        let update = ListUpdate(list: next, revision: revision, change: change, followed: followed)
        let sections = decoder.sections(of: next)
        adopt(update) { (shown, self.sections, failures) = (update, sections, decoder.failures) }
    }
}

#if canImport(SwiftUI)
    @available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)
    extension LiveList {
        /// An empty list whose changes are animated, except for resets.
        public convenience init(decoder: JSONDecoder = JSONDecoder(), animation: Animation) {
            self.init(decoder: decoder) { update, change in
                if case .reset = update.change { change() } else { withAnimation(animation) { change() } }
            }
        }
    }
#endif
