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

#if canImport(UIKit)
    import UIKit

    private final class FireCell: UICollectionViewCell {
        var name: String?
    }

    private final class FiresController: UICollectionViewController {
        private var fires = ItemDecoder<Fire>()
        private lazy var dataSource = {
            let cell = UICollectionView.CellRegistration<FireCell, LiveRow<Fire>> { cell, _, row in
                cell.name = row.item.name
            }
            return UICollectionViewDiffableDataSource<ElementID, ElementID>(collectionView: collectionView) {
                [unowned self] view, path, id in
                view.dequeueConfiguredReusableCell(using: cell, for: path, item: fires[id])
            }
        }()

        func follow(_ client: ListClient) async throws {
            var client = client
            client.form = .diffable
            for try await update in client.updates { dataSource.show(fires.decode(update), in: collectionView) }
        }
    }
#endif
