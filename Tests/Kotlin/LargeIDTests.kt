// Integer ids beyond 2^53, which other parsers would round: they come as strings, and must stay distinct.

import diffserver.Dialect
import diffserver.DiffClient
import diffserver.Edge
import diffserver.Edit
import diffserver.HttpClientTransport
import diffserver.JsonValue
import diffserver.RowList
import diffserver.RowWindow
import diffserver.Status

private const val SAFE = 9007199254740991
private const val EVEN = "9007199254740992"
private const val ODD = "9007199254740993"

private fun ids(list: RowList<*>?) =
    list?.sections.orEmpty().map { section -> listOf(section.id) + section.rows.map { it.id } }

fun Suite.largeIDTests() {
    for (dialect in Dialect.values()) {
        test("large integer ids keep rows and sections apart, and edits find them: $dialect") {
            val session = newSession()
            val seen = Seen()
            // The writer has integers.
            post(session, JsonValue.parse(
                """{"sections":[{"id":$ODD,"items":[$SAFE,{"id":$EVEN,"items":[$ODD]}]},{"id":$EVEN,"content":1}]}"""))
            val client = DiffClient(serverURL, session, dialect = dialect, transport = HttpClientTransport())
            val following = client.follow(onStatus = { seen.statuses.add(it) }) { seen.updates.add(it) }
            fun shows(vararg sections: List<String>) =
                eventually("it shows ${sections.toList()}", state = { ids(seen.updates.lastOrNull()?.list) }) {
                    ids(seen.updates.lastOrNull()?.list) == sections.toList()
                }
            try {
                shows(listOf(ODD, "$SAFE", EVEN, ODD), listOf(EVEN))
                same(seen.updates.last().list.rows.last().parent, EVEN)
                request("POST", "sessions/$session/changes", JsonValue.parse(
                    """{"edits":[{"op":"move","items":[$ODD],"before":$EVEN},""" +
                        """{"op":"update","items":[{"id":$EVEN,"content":1}]}]}"""))
                shows(listOf(ODD, "$SAFE", ODD, EVEN), listOf(EVEN))
                same(seen.updates.last().list.rows.map { it.content?.int }, listOf(null, null, 1))

                // The client has what it read: strings.
                val to = client.edit(Edit.move(ODD, into = seen.updates.last().list.sections[1]))
                shows(listOf(ODD, "$SAFE", EVEN), listOf(EVEN, ODD))
                eventually("it is at $to") { following.followed.revision == to }
                client.edit(
                    Edit.sections.move(EVEN, at = Edge.START), Edit.delete(EVEN),
                    Edit.insert(9007199254740995, after = ODD))
                shows(listOf(EVEN, ODD, "9007199254740995"), listOf(ODD, "$SAFE"))
                same(rowsOf(session), seen.updates.last().list)
                same(seen.statuses.toList(), listOf<Status>(Status.Live(true)), "every changeset fitted")
            } finally {
                following.cancel()
                following.join()
            }
        }
    }
    test("a window is around the one of two large integer ids that is meant") {
        val session = newSession()
        val seen = Seen()
        post(session, JsonValue.parse("[$SAFE,$EVEN,$ODD,1]"))
        val following = DiffClient(serverURL, session, transport = HttpClientTransport())
            .follow(window = RowWindow.around(ODD, 1, 0)) { seen.updates.add(it) }
        eventually("it is shown") { seen.updates.size == 1 }
        following.cancel()
        following.join()
        same(ids(seen.updates[0].list), listOf(listOf("main", EVEN, ODD)))
        same(seen.updates[0].window?.anchor, ODD)
        same(seen.updates[0].window?.above, 1)
    }
}
