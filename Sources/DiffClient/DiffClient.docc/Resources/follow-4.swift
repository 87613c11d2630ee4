import DiffClient
import SwiftUI

struct FiresView: View {
    @State private var fires = LiveList<Fire>(animation: .default)
    let client: ListClient

    var body: some View {
        List(fires.rows) { row in
            Button(row.item.name) { Task { try? await toTop(row.id) } }
        }
        .overlay {
            if let problem = fires.problem { Text(problem.description) }
        }
        .task { await fires.follow(client) }
    }

    func toTop(_ id: ElementID) async throws {
        try await fires.edit(.move(id, at: .start))
    }
}
