// What "Copy as" copies: a program in each language that follows the session shown. Only this part of the playground
// has the names of the clients' own API.

export const languages = {
  JavaScript: ({ base, session }) => `import { connect } from '${base}/client.js';

connect('${base}/', {
  session: ${JSON.stringify(session)},
  onChange(state, { changes }) {
    console.log(state.sections, changes);
  },
});`,

  Swift: ({ base, session }) => `import DiffClient
import Foundation

let client = ListClient(url: URL(string: "${base}")!, session: ${JSON.stringify(session)})
for try await update in client.updates {
    print(update.list)
}`,

  Kotlin: ({ base, session }) => `import diffserver.DiffClient

fun main() {
    val following = DiffClient("${base}", ${JSON.stringify(session)}).follow { update ->
        println(update.list.rows.map { it.id })
    }
    following.join()
}`,
};
