// Through proxies that cut, delay and refuse: whatever happens on the way, in the end each client shows the server's
// rows.

import diffserver.Dialect
import diffserver.DiffClient
import diffserver.Following
import diffserver.HttpClientTransport
import diffserver.JsonValue
import diffserver.ListUpdate
import diffserver.RowList
import diffserver.Status
import diffserver.UrlConnectionTransport
import java.util.concurrent.CopyOnWriteArrayList
import kotlin.random.Random

/** Follows, and checks that each update starts from the previous one, on the screen as well. */
private class Reader(val name: String, client: DiffClient<JsonValue>, poll: Boolean) {
    private val adapter = PlainAdapter()
    private val screen = Screen(adapter)
    private var shown: RowList<JsonValue>? = null
    private val errors = CopyOnWriteArrayList<String>()
    @Volatile var updates = 0
    @Volatile var waits = 0
    @Volatile var last: Status? = null
    val following: Following<JsonValue> = client.follow(poll = poll, onStatus = ::note, onUpdate = ::show)

    private fun note(status: Status) {
        if (status is Status.Waiting) waits += 1
        last = status
        if (status is Status.Stopped) errors.add(status.toString())
    }

    private fun show(update: ListUpdate<JsonValue>) {
        try {
            holds(shown == null || update.before === shown, "an update from elsewhere")
            shown = update.list
            adapter.show(update)
            screen.layOut()
            updates += 1
        } catch (error: Throwable) {
            errors.add(error.toString())
        }
    }

    fun check() = holds(errors.isEmpty(), "$name: $errors")
}

fun Suite.proxyTests() {
    if (System.getenv("PROXY_URL") == null) return
    test("through faults on the way every reader comes to the server's rows, and every edit is done once") {
        eventually("earlier threads end") { clientThreads().isEmpty() }
        val session = newSession()
        val random = Random(7)
        post(session, random.state())
        val (http, plain) = HttpClientTransport() to UrlConnectionTransport()
        val readers = listOf("java.net.http" to http, "HttpURLConnection" to plain).flatMap { (name, transport) ->
            Dialect.values().flatMap { dialect ->
                listOf(false, true).map { poll ->
                    val client = DiffClient(proxyURL, session, dialect = dialect, transport = transport)
                    Reader("$name $dialect poll $poll", client, poll)
                }
            }
        }
        eventually("all have begun", state = { readers.map { it.last } }) { readers.all { it.updates > 0 } }
        Proxies.tell("faults")
        val edited = newSession()
        post(edited, listOf<Any>())
        val writer = DiffClient(proxyURL, edited, patienceMillis = 120_000, transport = http)
        val writing = kotlin.concurrent.thread { for (number in 0 until 15) writer.edit(insert(number)) }
        val end = System.nanoTime() + 8_000_000_000
        while (System.nanoTime() < end || writing.isAlive && System.nanoTime() < end + 30_000_000_000) {
            post(session, random.state())
            pause(random.nextLong(20, 120), "a writer")
        }
        Proxies.tell("calm")
        writing.join(60_000)
        same(rowsOf(edited).rows.map { it.id }, (0 until 15).map { "$it" }, "edits")
        post(session, listOf("the", "last", "rows"))
        val last = rowsOf(session)
        eventually("all show the last rows", 90, { readers.map { it.name to it.last } }) {
            // As an app does when the network is back.
            readers.forEach { it.following.wake() }
            readers.all { it.following.followed.list == last }
        }
        readers.forEach { it.check() }
        holds(readers.map { it.waits }.sum() > 8, "faults: ${readers.map { it.waits }}")
        readers.forEach { it.following.cancel() }
        // On a desktop, HttpURLConnection's read ends with the next event.
        post(session, listOf("and", "on"))
        eventually("all threads end", 20) { clientThreads().isEmpty() }
    }
}
