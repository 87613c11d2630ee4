// What an app writes with the adapters, as docs/swift.md has it; compiled together with the client.

import Combine
import SwiftUI

private struct Fire: Codable, Sendable {
    var name: String
}

@MainActor
private func before17() -> some ObservableObject { ObservedList<Fire>(animation: .default) }

private func moved(
    _ row: ReorderDifference<LiveRow<Fire>.ID, ReorderableSingleCollectionIdentifier>,
    _ rowOfSection: ReorderDifference<LiveRow<Fire>.ID, LiveSection<Fire>.ID>
) -> [ListEdit] { [.move(row), .move(rowOfSection)] }

private func post(_ fires: [Fire], by client: ListClient) async throws {
    try await client.post(fires.map { NewElement($0.name, $0) })
}

#if canImport(UIKit)
    import UIKit

    private final class FiresController: UICollectionViewController {
        private let client: ListClient
        private var fires = ItemDecoder<Fire>()
        private var dataSource: UICollectionViewDiffableDataSource<ElementID, ElementID>!
        private var following: Task<Void, any Error>?

        init(_ client: ListClient) {
            self.client = client
            super.init(collectionViewLayout: UICollectionViewCompositionalLayout.list(using: .init(appearance: .plain)))
        }

        required init?(coder: NSCoder) { nil }

        override func viewDidLoad() {
            super.viewDidLoad()
            let cell = UICollectionView.CellRegistration<UICollectionViewListCell, LiveRow<Fire>> { cell, _, row in
                var content = cell.defaultContentConfiguration()
                content.text = row.item.name
                cell.contentConfiguration = content
            }
            dataSource = UICollectionViewDiffableDataSource(collectionView: collectionView) {
                [unowned self] view, path, id in
                view.dequeueConfiguredReusableCell(using: cell, for: path, item: fires[id])
            }
            var client = client
            client.form = .diffable
            client.onStatus = { [weak self] status in
                DispatchQueue.main.async { [weak self] in self?.title = "\(status)" }
            }
            following = Task { [weak self, client] in
                for try await update in client.updates {
                    guard let self else { return }
                    dataSource.show(fires.decode(update), in: collectionView)
                }
            }
        }

        deinit { following?.cancel() }

        private func letRowsBeDragged() {
            dataSource.reorderingHandlers.canReorderItem = { _ in true }
            dataSource.reorderingHandlers.didReorder = { [client] transaction in
                for section in transaction.sectionTransactions {
                    for case .insert(let index, let id, _) in section.difference.insertions {
                        let next = section.finalSnapshot.items.dropFirst(index + 1).first
                        let end = ListEdit.move(id, into: .section(section.sectionIdentifier))
                        Task { try await client.edit(next.map { .move(id, before: $0) } ?? end) }
                    }
                }
            }
        }
    }

    @MainActor
    private func staged(_ update: ListUpdate, _ view: UICollectionView, _ table: UITableView) {
        var model = RowList()
        let adopt = { model = $0 }
        view.show(update, adopt: adopt) { header, kind, path in print(header, kind, path, model) }
        table.show(update, adopt: adopt) { header, section in print(header, section) }
    }
#endif

#if canImport(AppKit)
    import AppKit

    // As docs/swift-by-hand.md has them.
    private struct Row: Decodable {
        var id: ElementID, content: Fire?, kind: String?, level: Int?, expanded: Bool?, children: Int?
    }

    private struct RowSection: Decodable {
        var id: ElementID, content: Fire?, expanded: Bool?
        var items: [Row]?
    }

    private struct Answer<Changes: Decodable>: Decodable {
        struct State: Decodable { var sections: [RowSection] }
        let from: String?, to: String, changes: Changes?, state: State?
    }

    private struct FlatRow: Decodable { var section: RowSection?, item: Row? }  // a header, or a row
    private struct Splice: Decodable { var op: String, at: Int?, count: Int?, from: Int?, to: Int?, rows: [FlatRow]? }

    @MainActor
    private final class CardsTable: NSObject, NSTableViewDataSource {
        let table = NSTableView()
        private(set) var rows: [FlatRow] = []

        func numberOfRows(in table: NSTableView) -> Int { rows.count }

        func show(_ answer: Answer<[Splice]>) {
            if let state = answer.state {
                rows = state.sections.flatMap { section in
                    let header = section.content == nil ? [] : [FlatRow(section: section)]
                    return header + (section.items ?? []).map { FlatRow(item: $0) }
                }
                return table.reloadData()
            }
            table.beginUpdates()
            for splice in answer.changes ?? [] {
                let at = splice.from ?? splice.at ?? 0, to = splice.to ?? at, new = splice.rows ?? []
                let range = at..<at + (splice.count ?? new.count)
                switch splice.op {
                case "remove":
                    rows.removeSubrange(range)
                    table.removeRows(at: IndexSet(range), withAnimation: .effectFade)
                case "insert":
                    rows.insert(contentsOf: new, at: at)
                    table.insertRows(at: IndexSet(range), withAnimation: .effectFade)
                case "move":
                    rows.insert(rows.remove(at: at), at: to)
                    table.moveRow(at: at, to: to)
                default:
                    rows.replaceSubrange(range, with: new)
                    let columns = IndexSet(0..<table.numberOfColumns)
                    table.reloadData(forRowIndexes: IndexSet(range), columnIndexes: columns)
                }
            }
            table.endUpdates()
        }
    }
#endif
