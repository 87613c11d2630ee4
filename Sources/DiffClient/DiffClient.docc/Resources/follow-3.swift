import DiffClient
import SwiftUI

struct FiresView: View {
    @State private var fires = LiveList<Fire>(animation: .default)
    let client: ListClient

    var body: some View {
        List(fires.rows) { row in
            Text(row.item.name)
        }
        .overlay {
            if let problem = fires.problem { Text(problem.description) }
        }
        .task { await fires.follow(client) }
    }
}
