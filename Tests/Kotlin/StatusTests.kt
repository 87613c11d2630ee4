// What a screen says besides its rows: a list that is stale, and edits that wait for the server.

import diffserver.DiffClient
import diffserver.Edit
import diffserver.HttpClientTransport
import diffserver.JsonValue
import diffserver.ListState
import diffserver.ListViewModel
import diffserver.NewItem
import diffserver.Pending
import diffserver.Status
import diffserver.states
import java.io.File
import java.util.concurrent.CopyOnWriteArrayList
import java.util.concurrent.atomic.AtomicBoolean
import kotlin.concurrent.thread
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.flow.*
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking

/** A server of its own, whose list comes from a source. */
private fun withList(source: String, body: (url: String) -> Unit) {
    val (file, log) = listOf("lists", "log").map { File.createTempFile(it, ".json") }
    file.writeText("""{"board":{"source":{"url":"$source","every":1}}}""")
    val command = listOf(System.getenv("DIFFSERVER_BINARY"), "serve", "--listen", "127.0.0.1:0", "--lists", file.path)
    val builder = ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log)
    builder.environment().keys.removeIf { it.startsWith("DIFFSERVER_") }
    val server = builder.start()
    try {
        var url: String? = null
        eventually("the server listens") {
            url = Regex("listens on (http\\S+)\\s").find(log.readText())?.groupValues?.get(1)
            url != null
        }
        body(url!!)
    } finally {
        server.destroy()
        server.waitFor()
        file.delete()
        log.delete()
    }
}

private val ListState<*>.ids get() = list.rows.joinToString("") { it.id }

fun Suite.statusTests() {
    test("a list whose source falls silent is stale, and then live again") {
        val isDown = AtomicBoolean(false)
        val source = Fake({ if (isDown.get()) it.refuse(503) else it.json("""[{"id":"a"}]""") })
        withList(source.url) { url ->
            val seen = Seen()
            val client = DiffClient(url, "board", transport = HttpClientTransport())
            val following = client.follow(onStatus = { seen.statuses.add(it) }) { seen.updates.add(it) }
            eventually("it shows a") { seen.ids == "a" }
            same(seen.statuses.last(), Status.Live(true) as Status)
            isDown.set(true)
            eventually("it is stale") { (seen.statuses.last() as? Status.Live)?.stale ?: 0 >= 1 }
            isDown.set(false)
            eventually("it is live again", 60) { seen.statuses.last() == Status.Live(true) }
            same(seen.updates.size, 1, "rows did not change")
            following.cancel()
        }
        source.close()
    }
    test("a stream opened anew is not stale unless it says so, and an id alone changes nothing") {
        val silent = """{"from":"1-a","to":"1-a","dialect":"keyed","changes":[],"stale":7}"""
        val fake = Fake(
            { it.stream(reset("1-a", "a"), silent).raw("id: 2-b\n\n") },
            { talk -> talk.stream().raw("id: 3-c\n\n").also { talk.hold() } })
        val statuses = CopyOnWriteArrayList<Status>()
        val client = DiffClient(fake.url, "s", transport = HttpClientTransport())
        val following = client.follow(onStatus = { statuses.add(it) }) { }
        eventually("it is live again", state = { statuses }) { statuses.count { it is Status.Live } >= 3 }
        same(statuses.filterIsInstance<Status.Live>().take(3).map { it.stale }, listOf(null, 7, null))
        following.cancel()
        fake.close()
    }
    test("an edit that waits for the server is told, as a count and by row") {
        val losing = Losing(HttpClientTransport(), 0)
        val client = DiffClient(serverURL, newSession(), transport = losing)
        client.post(JsonValue.of(listOf("a", "b")))
        val seen = Seen()
        val told = CopyOnWriteArrayList<Pending>()
        val following = client.follow(onPending = { told.add(it) }) { seen.updates.add(it) }
        eventually("it shows ab") { seen.ids == "ab" }
        losing.losses = 1
        val writer = thread { client.edit(Edit.move("b", before = "a"), Edit.insert(NewItem("p", items = listOf("q")))) }
        eventually("it is pending") { told.size == 1 }
        same(seen.ids, "bapq")
        same(told[0].count, 1)
        same(listOf("a", "b", "p", "q").filter { told[0].has(it) }, listOf("b", "p", "q"))
        writer.join()
        eventually("it is done") { told.size == 2 }
        same(told[1], Pending())
        following.cancel()
    }
    test("an adapter binds a row again when it begins and ends to wait, in the same holder") {
        val adapter = PlainAdapter()
        adapter.show(rowList(JsonValue.parse("""{"sections":[{"id":"s","items":[{"id":"a"},{"id":"b"}]}]}""")))
        val screen = Screen(adapter)
        screen.layOut()
        for ((pending, rebound) in listOf(Pending(1, setOf("b")) to 1, Pending(2, setOf("b", "a")) to 2, Pending() to 4)) {
            adapter.pending = pending
            screen.layOut()
            same(screen.rebound, rebound)
        }
    }
    test("a ViewModel's state has rows, status and pending edits, and goes on where it was") {
        val losing = Losing(HttpClientTransport(), 0)
        val client = DiffClient(serverURL, newSession(), transport = losing)
        client.post(JsonValue.of(listOf("a", "b")))
        val model = ListViewModel(client)
        same(model.state.value, ListState())
        val seen = CopyOnWriteArrayList<ListState<JsonValue>>()
        val collecting = CoroutineScope(Dispatchers.Default).launch { model.state.collect { seen.add(it) } }
        eventually("it is live") { seen.lastOrNull()?.ids == "ab" && seen.last().status == Status.Live(true) }
        losing.losses = 1
        val writer = thread { client.edit(Edit.move("b", before = "a")) }
        eventually("it waits") { seen.last().let { it.pending.has("b") && it.ids == "ba" } }
        same(seen.last().followed.list.rows.map { it.id }, listOf("a", "b"))
        eventually("it is done") { seen.last().let { it.pending.count == 0 && it.followed.list === it.list } }
        writer.join()
        collecting.cancel()
        eventually("all threads end") { clientThreads().isEmpty() }
        client.edit(Edit.insert("c"))
        same(model.state.value.ids, "ba")
        val again = CoroutineScope(Dispatchers.Default).launch { model.state.collect { } }
        eventually("what was missed comes") { model.state.value.ids == "bac" }
        again.cancel()
    }
    test("states end with the reason why asking again cannot help") {
        val fake = Fake({ it.refuse(403) })
        var last = ListState<JsonValue>()
        runBlocking { DiffClient(fake.url, "s").states().collect { last = it } }
        same((last.status as Status.Stopped).problem.status, 403)
        fake.close()
    }
}
