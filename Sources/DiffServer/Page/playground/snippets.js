// What "Copy as" copies: a program in each language that follows the session that is shown. The names of the
// clients' own API stand here, and nowhere else in the playground.

export const languages = {
  JavaScript: ({ base, session }) => `import { connect } from '${base}/client.js';

connect('${base}', {
  session: ${JSON.stringify(session)},
  onChange(state, { changes }) {
    console.log(state.sections, changes);
  },
});`,

  Swift: ({ base, session }) => `import DiffClient
import Foundation

let client = DiffClient(url: URL(string: "${base}")!, session: ${JSON.stringify(session)})
for try await update in client.updates {
    print(update.list)
}`,

  Kotlin: ({ base, session }) => `val base = "${base}"
var mine: String? = null
while (true) {
    val since = mine?.let { "&since=$it" } ?: ""
    val address = "$base/v1/sessions/${encodeURIComponent(session)}/changes?wait=25&dialect=sequential$since"
    val answer = org.json.JSONObject(java.net.URL(address).readText())
    mine = answer.getString("to")
    println(answer.optJSONArray("changes") ?: answer.getJSONObject("state"))
}`,
};
