// A server that answers by a script, to provoke every fault at will.

import com.sun.net.httpserver.HttpExchange
import com.sun.net.httpserver.HttpServer
import diffserver.Dialect
import diffserver.DiffClient
import diffserver.Followed
import diffserver.HttpClientTransport
import diffserver.JsonValue
import diffserver.ListUpdate
import diffserver.RowWindow
import diffserver.Status
import diffserver.Transport
import diffserver.UrlConnectionTransport
import java.net.InetSocketAddress
import java.util.concurrent.CopyOnWriteArrayList
import java.util.concurrent.Executors

class Asked(val query: Map<String, String>, val headers: Map<String, String>, val at: Long)

/** Runs a script with one function per request; the last one answers all further requests. */
class Fake(private vararg val script: (Talk) -> Unit) : java.io.Closeable {
    val asked: MutableList<Asked> = CopyOnWriteArrayList()
    private val server = HttpServer.create(InetSocketAddress("127.0.0.1", 0), 0)
    private val threads = Executors.newCachedThreadPool()
    val url = "http://127.0.0.1:${server.address.port}/"

    init {
        server.executor = threads
        server.createContext("/") { exchange ->
            val query = exchange.requestURI.query.orEmpty().split("&").filter { it != "" }
                .associate { it.substringBefore("=") to it.substringAfter("=") }
            val headers = exchange.requestHeaders.map { (name, values) -> name.toLowerCase() to values[0] }.toMap()
            val turn = synchronized(asked) {
                asked.add(Asked(query, headers, System.nanoTime()))
                asked.size
            }
            try {
                script[minOf(turn, script.size) - 1](Talk(exchange))
            } catch (error: java.io.IOException) {
                // The client went away.
            } finally {
                exchange.close()
            }
        }
        server.start()
    }

    override fun close() {
        server.stop(0)
        threads.shutdownNow()
    }
}

class Talk(private val exchange: HttpExchange) {
    fun stream(vararg events: String): Talk {
        exchange.responseHeaders.add("Content-Type", "text/event-stream")
        exchange.sendResponseHeaders(200, 0)
        raw("retry: 20\n\n")
        for (event in events) raw("event: changes\ndata: $event\n\n")
        return this
    }

    fun raw(text: String) = raw(text.toByteArray())
    fun raw(bytes: ByteArray) {
        exchange.responseBody.write(bytes)
        exchange.responseBody.flush()
    }

    fun hold() = pause(60_000, "a server that says no more")
    fun json(text: String) = refuse(200, text, "application/json")

    fun refuse(
        status: Int, text: String = """{"title":"Refused","status":$status}""",
        type: String = "application/problem+json", headers: Map<String, String> = emptyMap()
    ) {
        exchange.responseHeaders.add("Content-Type", type)
        for ((name, value) in headers) exchange.responseHeaders.add(name, value)
        exchange.sendResponseHeaders(status, text.toByteArray().size.toLong())
        raw(text)
    }
}

fun reset(to: String, vararg ids: String, reason: String = "initial") =
    """{"session":"s","from":null,"to":"$to","dialect":"keyed","reset":"$reason",""" +
    """"state":{"sections":[{"id":"main","items":[${ids.joinToString { """{"id":"$it"}""" }}]}]}}"""

fun append(from: String, to: String, id: String) =
    """{"session":"s","from":"$from","to":"$to","dialect":"keyed","changes":""" +
    """[{"op":"insert","items":[{"id":"$id"}],"in":"main","before":null}]}"""

val transports = listOf<Pair<String, () -> Transport>>(
    "java.net.http" to { HttpClientTransport() }, "HttpURLConnection" to { UrlConnectionTransport() }
)

/** The updates and statuses of a following. */
class Seen {
    val updates: MutableList<ListUpdate<JsonValue>> = CopyOnWriteArrayList()
    val statuses: MutableList<Status> = CopyOnWriteArrayList()
    val ids get() = updates.lastOrNull()?.list?.rows?.joinToString("") { it.id }
}

private fun follow(
    fake: Fake, shows: String?, poll: Boolean = false, from: Followed<JsonValue> = Followed(),
    client: DiffClient<JsonValue> = DiffClient(fake.url, "s", transport = HttpClientTransport()),
    more: (Seen) -> Unit = {}
): Seen {
    val seen = Seen()
    fake.use {
        val following = client.follow(from, poll = poll, onStatus = { seen.statuses.add(it) }) { seen.updates.add(it) }
        try {
            if (shows != null) eventually("it shows $shows") { seen.ids == shows }
            more(seen)
        } finally {
            following.cancel()
            following.join()
        }
    }
    return seen
}

private fun millis(from: Asked, to: Asked) = (to.at - from.at) / 1_000_000

fun Suite.scriptedTests() {
    test("a stream: a reset, then changes from mine") {
        val fake = Fake({ it.stream(reset("1-a", "a", "b"), append("1-a", "2-b", "c")).hold() })
        val seen = follow(fake, "abc")
        same(fake.asked[0].headers["accept"], "text/event-stream")
        same(fake.asked[0].query, mapOf("dialect" to "keyed", "content" to "delta"))
        same(seen.statuses.toList(), listOf<Status>(Status.Live(true)))
        holds(seen.updates[1].before === seen.updates[0].list, "updates follow each other")
    }
    test("texts that grew arrive as what was added, in rows, sections and the list") {
        val begin = """{"from":null,"to":"1-a","dialect":"keyed","reset":"initial",""" +
            """"state":{"content":"1","sections":[{"id":"s","content":{"t":"a"},"items":[""" +
            """{"id":"a","content":{"x/y":{"text":"Hel"},"n":1}}]}]}}"""
        val next = """{"from":"1-a","to":"2-b","dialect":"keyed","list":{"append":{"":"2"}},"changes":[""" +
            """{"op":"update","section":{"id":"s","append":{"/t":"é","/new":"b"}},"as":"reconfigure"},""" +
            """{"op":"update","items":[{"id":"a","patch":{"n":2},"append":{"/x~1y/text":"lo"}}],"as":"reconfigure"}]}"""
        val seen = follow(Fake({ it.stream(begin, next).hold() }), null) { seen ->
            eventually("both are shown") { seen.updates.size == 2 }
        }
        val list = seen.updates.last().list
        same(list.content, JsonValue.of("12"))
        same(list.sections[0].content, JsonValue.parse("""{"t":"aé","new":"b"}"""))
        same(list.rows[0].content, JsonValue.parse("""{"n":2,"x/y":{"text":"Hello"}}"""))
    }
    test("in sequential, too; what is no text leads to a reset") {
        val begin = """{"from":null,"to":"1-a","dialect":"sequential","reset":"initial","state":{"sections":[""" +
            """{"id":"s","content":"h","items":[{"id":"a","content":{"t":"a","n":1}}]}]}}"""
        fun next(from: String, to: String, pointer: String) = """{"from":"$from","to":"$to","dialect":"sequential",""" +
            """"changes":[{"op":"update","at":0,"rows":[{"section":{"id":"s","append":{"":"i"}}},""" +
            """{"item":{"id":"a","append":{"$pointer":"b"}},"in":"s"}],"as":"reconfigure"}]}"""
        val (good, bad) = next("1-a", "2-b", "/t") to next("2-b", "3-c", "/n")
        val fake = Fake({ it.stream(begin, good, bad) }, { it.stream().hold() })
        val seen = follow(fake, null, client = DiffClient(
            fake.url, "s", dialect = Dialect.SEQUENTIAL, transport = HttpClientTransport()
        )) { eventually("it asks again") { fake.asked.size == 2 } }
        same(seen.updates.last().list.sections[0].content, JsonValue.of("hi"))
        same(seen.updates.last().list.rows[0].content, JsonValue.parse("""{"t":"ab","n":1}"""))
        same(fake.asked[1].query["since"], null)
    }
    test("an older server is asked for patches, once and for all") {
        val fake = Fake(
            { it.refuse(400) }, { it.stream(reset("1-a", "a")) }, { it.stream(append("1-a", "2-b", "b")).hold() })
        val seen = follow(fake, "ab")
        same(fake.asked.map { it.query["content"] }, listOf<String?>("delta", "patch", "patch"))
        holds(seen.statuses.first() == Status.Live(true), seen.statuses)
        val never = Fake({ it.refuse(400) })
        val stopped = follow(never, null) { seen ->
            eventually("it stops") { seen.statuses.any { it is Status.Stopped } }
        }
        same(never.asked.size, 2)
        same(stopped.statuses.size, 1)
    }
    for ((name, transport) in transports) {
        test("polls that a cache can answer: $name") {
            val stale = append("2-b", "3-c", "c").replace("{\"session\"", "{\"stale\":7,\"session\"")
            val fake = Fake(
                { it.json(reset("1-a", "a")) }, { it.json(append("1-a", "2-b", "b")) },
                { it.refuse(503, headers = mapOf("Retry-After" to "1")) }, { it.json(stale) }, { it.json(stale) })
            val client = DiffClient(fake.url, "s", pollMillis = 100, transport = transport())
            val seen = follow(fake, "abc", client = client) { eventually("it polls") { fake.asked.size == 6 } }
            same(fake.asked[1].query, mapOf("dialect" to "keyed", "content" to "delta", "since" to "1-a"))
            for (each in fake.asked) {
                same(each.headers["accept"], "*/*")
                for (other in listOf("cache-control", "pragma", "prefer")) same(each.headers[other], null)
            }
            holds(millis(fake.asked[0], fake.asked[1]) >= 90, "not before the period")
            holds(millis(fake.asked[2], fake.asked[3]) >= 1_000, "not before a second")
            same(seen.statuses.filterIsInstance<Status.Live>(), listOf(Status.Live(false), Status.Live(false, 7)))
        }
    }
    test("between polls another window is asked for at once") {
        val fake = Fake({ it.json(reset("1-a~0.1.a", "a")) }, { it.json(append("1-a~0.1.a", "1-a~0.2.a", "b")) })
        val client = DiffClient(fake.url, "s", pollMillis = 60_000, transport = HttpClientTransport())
        val seen = Seen()
        val following = client.follow(window = RowWindow.atStart(0), onUpdate = { seen.updates.add(it) })
        eventually("the window is shown") { seen.ids == "a" }
        following.show(RowWindow.around("a", 0, 1))
        eventually("the other one is shown") { seen.ids == "ab" }
        following.cancel()
        fake.close()
        for (wrong in listOf(0L, -1L, 86_400_001L)) {
            throws<IllegalArgumentException>(wrong) { DiffClient(fake.url, "s", pollMillis = wrong) }
        }
    }
    test("bytes that come one by one are one answer") {
        val fake = Fake({ talk ->
            talk.stream()
            val event = "event: changes\ndata: ${reset("1-a", "é", "😀")}\n\n"
            for (byte in event.toByteArray()) talk.raw(byteArrayOf(byte))
            talk.hold()
        })
        follow(fake, "é😀")
    }
    test("what was answered before is nothing; what is from elsewhere is asked for again at once") {
        val next = append("1-a", "2-b", "b")
        val fake = Fake(
            { it.stream(reset("1-a", "a"), next, next, append("7-x", "8-y", "z")).hold() },
            { it.stream(append("2-b", "3-c", "c")).hold() })
        val seen = follow(fake, "abc")
        same(fake.asked[1].query["since"], "2-b")
        same(seen.updates.size, 3)
    }
    test("changes that do not fit lead to a reset") {
        val unfit = """{"from":"1-a","to":"2-b","dialect":"keyed","changes":[{"op":"remove","items":["q"]}]}"""
        val fake = Fake({ it.stream(reset("1-a", "a"), unfit).hold() }, { it.stream(reset("2-b", "x")).hold() })
        follow(fake, "x")
        same(fake.asked[1].query["since"], null)
    }
    test("an id alone is what mine is called from now on") {
        val fake = Fake(
            { it.stream(reset("1-a", "a")).raw("id: 2-b\n\n") }, { it.stream(append("2-b", "3-c", "b")).hold() })
        follow(fake, "ab")
        same(fake.asked[1].query["since"], "2-b")
    }
    test("what was shown earlier goes on") {
        val fake = Fake({ it.stream(reset("1-a", "a")).hold() })
        val earlier = follow(fake, "a").updates[0].followed
        val again = Fake({ it.stream(append("1-a", "2-b", "b")).hold() })
        follow(again, "ab", from = earlier)
        same(again.asked[0].query["since"], "1-a")
    }
    test("a window is asked for, and another one from what is shown") {
        val fake = Fake(
            { it.stream(reset("1-a~0.1.a", "a")).hold() },
            { it.stream(append("1-a~0.1.a", "1-a~0.2.a", "b")).hold() })
        val seen = Seen()
        val following = DiffClient(fake.url, "s", transport = HttpClientTransport())
            .follow(window = RowWindow.atStart(0), onUpdate = { seen.updates.add(it) })
        eventually("the window is shown") { seen.ids == "a" }
        following.show(RowWindow.around("a", 0, 1))
        eventually("the other one is shown") { seen.ids == "ab" }
        following.cancel()
        fake.close()
        same(listOf(fake.asked[0].query["at"], fake.asked[1].query["around"], fake.asked[1].query["since"]),
            listOf<String?>("start", "a", "1-a~0.1.a"))
    }
    for (status in listOf(503, 429)) {
        test("$status is waited for as Retry-After says, and what is shown stays") {
            val fake = Fake(
                { it.stream(reset("1-a", "a")) }, { it.refuse(status, headers = mapOf("Retry-After" to "1")) },
                { it.stream(append("1-a", "2-b", "b")).hold() })
            val seen = follow(fake, "ab")
            holds(millis(fake.asked[1], fake.asked[2]) >= 1_000, "not before a second")
            holds(seen.statuses.any { it is Status.Waiting && it.problem.status == status }, seen.statuses)
        }
    }
    test("404, a proxy's page, an end and a portal are asked again, from mine") {
        val fake = Fake(
            { it.stream(reset("1-a", "a")) }, { it.refuse(404) }, { it.refuse(502, "<h1>", "text/html") },
            { it.stream().raw("event: end\ndata: {\"title\":\"Gone\",\"status\":404}\n\n") },
            { it.stream(append("1-a", "2-b", "b")).hold() })
        follow(fake, "ab")
        same(fake.asked.drop(1).map { it.query["since"] }.toSet(), setOf<String?>("1-a"))
    }
    missingTests()
    test("a wrong token stops it; one that is given anew is renewed") {
        val fake = Fake({ it.refuse(401) })
        val wrong = DiffClient(fake.url, "s", "wrong", transport = HttpClientTransport())
        val seen = follow(fake, null, client = wrong) { eventually("it stops") { it.statuses.lastOrNull() is Status.Stopped } }
        same(seen.statuses.size, 1)
        var tokens = 0
        val other = Fake({ it.refuse(401) }, { it.stream(reset("1-a", "a")).hold() })
        val client = DiffClient(other.url, "s", renewing = { "t${tokens++}" }, transport = UrlConnectionTransport())
        follow(other, "a", client = client)
        same(other.asked.map { it.headers["authorization"] }, listOf<String?>("Bearer t0", "Bearer t1"))
    }
    test("streams of a list that is quiet do not count as failures when they end") {
        val quiet = Array<(Talk) -> Unit>(8) { { it.stream().raw("id: 1-a\n\n") } }
        val fake = Fake({ it.stream(reset("1-a", "a")) }, *quiet, { it.stream(append("1-a", "2-b", "b")).hold() })
        val seen = follow(fake, "ab")
        val delays = seen.statuses.filterIsInstance<Status.Waiting>().map { it.delayMillis }
        holds(delays.size > 7 && delays.all { it <= 20 }, delays)
    }
    test("without a token, 401 is waited for: the list may be public later") {
        val fake = Fake({ it.stream(reset("1-a", "a")) }, { it.refuse(401) }, { it.stream(append("1-a", "2-b", "b")).hold() })
        val seen = follow(fake, "ab")
        val refused = seen.statuses.filterIsInstance<Status.Waiting>().map { it.problem.status }
        same(refused.filter { it == 401 }, listOf<Int?>(401))
        same(fake.asked.map { it.query["since"] }, listOf(null, "1-a", "1-a"))
    }
    test("without streams it polls, by requests that the server holds") {
        val fake = Fake(
            { it.refuse(406) }, { it.json(reset("1-a", "a")) }, { it.json(append("1-a", "2-b", "b")) }, { it.hold() })
        follow(fake, "ab")
        same(fake.asked[1].query["wait"], null, "nobody needs to hold it without a base")
        same(listOf(fake.asked[2].query["wait"], fake.asked[2].query["since"]), listOf<String?>("25", "1-a"))
    }
    test("something that holds a stream back leads to polls") {
        val fake = Fake({ it.hold() }, { it.json(reset("1-a", "a")) }, { it.hold() })
        val client = DiffClient(fake.url, "s", transport = HttpClientTransport()).also { it.beginMillis = 200 }
        follow(fake, "a", client = client)
        same(fake.asked[1].headers["accept"], "application/json")
    }
    test("an answer that is no stream leads to polls") {
        val fake = Fake({ it.json(reset("9-z", "z")) }, { it.json(reset("1-a", "a")) }, { it.hold() })
        follow(fake, "a")
    }
    test("polls that nobody holds do not go in a circle") {
        val nothing = """{"from":"1-a","to":"1-a","dialect":"keyed","changes":[]}"""
        val fake = Fake({ it.json(reset("1-a", "a")) }, { it.json(nothing) })
        follow(fake, "a", poll = true) { letPass(1_000, "the client's pause between polls") }
        holds(fake.asked.size <= 4, "${fake.asked.size} requests")
    }
    test("silence ends a stream, which goes on from mine") {
        val fake = Fake({ it.stream(reset("1-a", "a")).hold() }, { it.stream(append("1-a", "2-b", "b")).hold() })
        val client = DiffClient(fake.url, "s", transport = HttpClientTransport()).also { it.silenceMillis = 1_500 }
        val seen = follow(fake, "ab", client = client)
        same(fake.asked[1].query["since"], "1-a")
        holds(seen.statuses.any { it is Status.Waiting && it.problem.title == "The server fell silent" }, seen.statuses)
    }
    for ((name, transport) in transports) {
        for (poll in listOf(false, true)) {
            test("cancelling ends a ${if (poll) "held request" else "stream"} at once: $name") {
                eventually("earlier threads end") { clientThreads().isEmpty() }
                val fake = if (poll) Fake({ it.json(reset("1-a", "a")) }, { it.hold() })
                else Fake({ it.stream(reset("1-a", "a")).hold() })
                val seen = Seen()
                val client = DiffClient(fake.url, "s", transport = transport())
                val following = client.follow(poll = poll) { seen.updates.add(it) }
                eventually("it is held") { seen.ids == "a" && fake.asked.size == (if (poll) 2 else 1) }
                pause(100, "a client that comes to read")
                val begin = System.nanoTime()
                following.cancel()
                following.join()
                // A desktop's HttpURLConnection cannot close what is being read; on Android it can.
                if (poll || name != "HttpURLConnection") eventually("all threads end") { clientThreads().isEmpty() }
                holds(millisSince(begin) < 5_000, "it took ${millisSince(begin)} ms")
                fake.close()
            }
        }
    }
    test("cancelling ends a wait, and no callback comes after it") {
        val fake = Fake({ it.refuse(503, headers = mapOf("Retry-After" to "600")) })
        val seen = Seen()
        val client = DiffClient(fake.url, "s")
        val following = client.follow(onStatus = { seen.statuses.add(it) }) { seen.updates.add(it) }
        eventually("it waits") { seen.statuses.size == 1 }
        // A server that asked for a pause gets it.
        following.wake()
        stays("nothing is asked", 100) { fake.asked.size == 1 }
        following.cancel()
        following.join()
        fake.close()
        same(seen.statuses.size, 1)
    }
    test("the network's return ends a wait") {
        val fake = Fake(
            { it.stream(reset("1-a", "a")).raw("retry: 60000\n\n") }, { it.stream(append("1-a", "2-b", "b")).hold() })
        val seen = Seen()
        val client = DiffClient(fake.url, "s")
        val following = client.follow(onStatus = { seen.statuses.add(it) }) { seen.updates.add(it) }
        eventually("it waits") { seen.statuses.lastOrNull() is Status.Waiting }
        following.wake()
        eventually("it shows more") { seen.ids == "ab" }
        following.cancel()
        fake.close()
    }
}
