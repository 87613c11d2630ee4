// Edits that are shown at once: Tests/Fixtures/edits.json, which says what the server does by them, the way from one
// list to another, and the queue of what is pending, by a script and against the real server.

import diffserver.Change
import diffserver.Dialect
import diffserver.DiffClient
import diffserver.Edit
import diffserver.HttpClientTransport
import diffserver.JsonValue
import diffserver.ListUpdate
import diffserver.Misfit
import diffserver.ProblemException
import diffserver.RowList
import diffserver.Status
import diffserver.Transport
import diffserver.applyingKeyed
import diffserver.change
import diffserver.edited
import java.io.File
import java.util.concurrent.CopyOnWriteArrayList
import java.util.concurrent.CountDownLatch
import kotlin.concurrent.thread
import kotlin.random.Random

fun edit(op: String, vararg members: Pair<String, Any?>) = Edit.of(JsonValue.objectOf("op" to op, *members))
private fun like(id: String) = Edit.add(id, "/likes", 1)
private val toStart = Edit.move("c", before = "a")
private val Change.size
    get() = when (this) {
        is Change.Reset -> 0
        is Change.Keyed -> operations.array!!.size
        is Change.Sequential -> splices.size
    }

private val Change.Keyed.moves get() = operations.array!!.count { it["op"]!!.string == "move" }

/** Applies a change to a list, as a view that draws rows by it does. */
private fun checkWay(old: RowList<JsonValue>, new: RowList<JsonValue>) {
    val keyed = old.change(new, Dialect.KEYED, emptyMap()) as Change.Keyed
    same(old.applyingKeyed(keyed.operations, plain).sections, new.sections, "$old ${keyed.operations}")
    val adapter = PlainAdapter().also { it.show(old) }
    val screen = Screen(adapter)
    screen.layOut()
    adapter.show(ListUpdate(old, diffserver.Followed(new), old.change(new, Dialect.SEQUENTIAL, emptyMap())))
    screen.layOut()
    val moved = keyed.operations.array!!.count { it["op"]!!.string == "move" && it["item"] != null }
    // On a flat list a row need not move to be in another section.
    val isLess = screen.moves <= moved || keyed.operations.array!!.any { it["section"] != null }
    holds(isLess, "moves of $old to $new: ${screen.moves}, $moved")
}

fun Suite.editingTests() {
    test("edits do what the server does by them, and what it refuses they refuse") {
        val vectors = JsonValue.parse(File(System.getenv("EDITS")).readText()).array!!
        for (vector in vectors) {
            val (name, old) = vector["name"]!!.string to rowList(vector["state"]!!)
            val edits = vector["edits"]!!.array!!.map { Edit.of(it) }
            if (vector["after"] === JsonValue.Null) throws<Misfit>(name) { old.edited(edits, plain) }
            else {
                val new = old.edited(edits, plain)
                same(new, rowList(vector["after"]!!), name)
                checkWay(old, new)
                checkWay(new, old)
            }
        }
        holds(vectors.size >= 60 && vectors.count { it["after"] === JsonValue.Null } > 15, vectors.size)
    }
    test("what has not the form of an edit is refused") {
        val rows = """[{"id":"a","content":1},{"id":"b"}]"""
        val list = rowList(JsonValue.parse("""{"sections":[{"id":"s","items":$rows}]}"""))
        for (text in listOf(
            "1", "{}", """{"op":"paint","items":["a"]}""", """{"op":"delete"}""", """{"op":"move","items":"a"}""",
            """{"op":"delete","items":["a"],"sections":["s"]}""", """{"op":"delete","items":["a"],"at":"end"}""",
            """{"op":"move","items":["a"],"before":"b","into":"s"}""", """{"op":"move","items":["a"],"at":"top"}""",
            """{"op":"move","items":["a"],"before":"b","at":"end"}""", """{"op":"move","items":["a"],"before":[]}""",
            """{"op":"move","items":["a"],"before":[null,"b"]}""", """{"op":"insert","items":[{"content":1}]}""",
            """{"op":"insert","items":[{"id":"x","new":1}]}""", """{"op":"insert","items":[{"id":1.5}]}""",
            """{"op":"insert","sections":[{"id":"x","kind":"k"}]}""", """{"op":"move","sections":["s"],"into":"s"}""",
            """{"op":"update","items":[{"id":"a","content":1,"patch":2}]}""", """{"op":"update","items":["a"]}""",
            """{"op":"update","items":[{"id":"a","add":{"likes":1}}]}""",
            """{"op":"update","items":[{"id":"a","add":1}]}""", """{"op":"update","items":[{"id":"a","append":"x"}]}""",
            """{"op":"update","items":[{"id":"a","append":{"":"x"}}]}""",
            """{"op":"update","items":[{"id":"b","append":{"":1}}]}""",
            """{"op":"update","items":[{"id":"b","append":{"x":"y"}}]}""",
            """{"op":"update","items":[{"id":"b","content":1,"append":{"":"x"}}]}""",
            """{"op":"update","items":[{"id":"a","add":{"":1e99999999999}}]}""",
            """{"op":"update","items":[{"id":"a","add":{"":1e18}}]}""",
            """{"op":"update","items":[{"id":"a","add":{"":1e-18}}]}""",
            """{"op":"update","items":[{"id":"a","add":{"":1234567890123456789}}]}""")) {
            throws<Misfit>(text) { list.edited(listOf(Edit.of(JsonValue.parse(text))), plain) }
        }
        val far = list.edited(listOf(Edit.add("a", "", 1e-17)), plain)
        same(far.rows[0].content.toString(), "1.00000000000000001")
        holds(list.edited(listOf(Edit.reload("a")), plain) === list, "what did not change is the same")
    }
    test("texts are appended after a patch and an addition") {
        val rows = """[{"id":"a","content":{"t":"x","l":["y"],"z":null}},{"id":"b"}]"""
        val list = rowList(JsonValue.parse("""{"sections":[{"id":"s","content":"h","items":$rows}]}"""))
        val all = Edit.of(JsonValue.parse("""{"op":"update","items":[{"id":"a",""" +
            """"append":{"/t":"é","/l/0":"y","/m~1/n":"o"},"add":{"/n":1},"patch":{"t":"p"}}]}"""))
        val header = Edit.sections.append("s", mapOf("" to "i"))
        val new = list.edited(listOf(all, Edit.append("b", "", "b"), header), plain)
        val content = JsonValue.parse("""{"t":"pé","l":["yy"],"z":null,"n":1,"m/":{"n":"o"}}""")
        same(new.rows.map { it.content }, listOf(content, JsonValue.of("b")))
        same(new.sections[0].content, JsonValue.of("hi"))
        for (place in listOf("/z", "/l", "/l/1", "/t/x", "")) {
            throws<Misfit>(place) { list.edited(listOf(Edit.append("a", place, "x")), plain) }
        }
    }
    test("random batches are done, or refused, as the server does them") {
        val random = Random(11)
        val client = DiffClient(serverURL, newSession(), transport = HttpClientTransport())
        var (done, refused) = 0 to 0
        repeat(400) { round ->
            client.post(JsonValue.of(unfolded(random.state())))
            val old = rowsOf(client.session)
            val edits = (0..random.nextInt(3)).map { random.anyEdit(old, "$round.$it") }
            val new = try { old.edited(edits, plain) } catch (misfit: Misfit) { null }
            val answered = try {
                client.edit(*edits.toTypedArray())
                rowsOf(client.session)
            } catch (problem: ProblemException) {
                same(problem.problem.status, 422)
                null
            }
            same(new, answered, "$old\n$edits")
            if (new == null) refused += 1 else done += 1
        }
        holds(done > 100 && refused > 80, "$done done, $refused refused")
    }
    test("from any list to any other, by operations and by splices, with as few moves as the server says") {
        val random = Random(5)
        val session = newSession()
        var (old, before) = RowList<JsonValue>() to mapOf<String, Any?>("sections" to emptyList<Any>())
        var moves = 0
        repeat(150) { round ->
            val letters = "abcdefghij".map { "$it" }.shuffled(random)
            val long = mapOf("sections" to listOf(mapOf("id" to "s", "items" to letters)))
            val state = if (round % 3 == 0) random.state() else long
            post(session, state)
            val new = rowsOf(session)
            checkWay(old, new)
            val told = request("POST", "diff", mapOf("old" to before, "new" to state))["changes"]!!
            val keyed = old.change(new, Dialect.KEYED, emptyMap()) as Change.Keyed
            same(keyed.moves, Change.Keyed(told).moves, "$old $new")
            moves += keyed.moves
            old = new
            before = state
        }
        holds(moves > 100, "$moves moves")
    }
    queueTests()
    for (dialect in Dialect.values()) {
        test("two clients edit one list by streams: $dialect") { together(dialect, poll = false) }
        test("two clients edit one list by polls: $dialect") { together(dialect, poll = true) }
    }
}

/** A following of a scripted stream, and what it showed. */
private class Scripted(answer: (Talk) -> Unit, vararg more: (Talk) -> Unit) {
    @Volatile private var talk: Talk? = null
    val fake = Fake({ it.stream(reset("1-a", "a", "b", "c")).also { own -> talk = own }.hold() }, answer, *more)
    val client = DiffClient(fake.url, "s", transport = HttpClientTransport())
    val seen = Seen()
    private val following = client.follow { seen.updates.add(it) }
    val steps get() = synchronized(seen.updates) { seen.updates.map { it.change.size } }

    init {
        eventually("it shows the rows") { seen.ids == "abc" && talk != null }
    }

    fun shows(ids: String) = eventually("it shows $ids", state = { seen.ids }) { seen.ids == ids }
    fun tell(text: String) = talk!!.raw(text)
    fun event(changes: String) =
        tell("event: changes\ndata: {\"from\":\"1-a\",\"to\":\"2-b\",\"dialect\":\"keyed\",\"changes\":$changes}\n\n")

    fun end() {
        following.cancel()
        following.join()
        fake.close()
    }
}

private const val DONE = """{"session":"s","from":"1-a","to":"2-b"}"""
private const val MOVE = """[{"op":"move","item":"c","in":"main","before":"a"}]"""

private fun Suite.queueTests() {
    test("an edit is shown at once, and its event before the answer moves nothing") {
        val mayAnswer = CountDownLatch(1)
        val scripted = Scripted({ mayAnswer.await(); it.json(DONE) })
        val writer = thread { scripted.client.edit(toStart) }
        scripted.shows("cab")
        val shown = scripted.seen.updates[1]
        same(shown.followed.list.rows.map { it.id }, listOf("a", "b", "c"), "the head has it not")
        same((shown.change as Change.Keyed).operations, JsonValue.parse(MOVE))
        scripted.event(MOVE)
        eventually("the head has it") { scripted.seen.updates.size == 3 }
        mayAnswer.countDown()
        writer.join(10_000)
        stays("cab is shown", 100) { scripted.seen.ids == "cab" }
        same(scripted.steps, listOf(0, 1, 0))
        same(scripted.seen.updates[2].followed.revision, "2-b")
        scripted.end()
    }
    test("a refused edit is taken back once, and what was written before and behind it stays") {
        val refuse = CountDownLatch(1)
        val scripted = Scripted({ refuse.await(); it.refuse(422) }, { it.json(DONE) })
        val refused = thread { throws<ProblemException>("422") { scripted.client.edit(toStart, insert("d")) } }
        scripted.shows("cabd")
        val other = thread { scripted.client.edit(Edit.delete("b")) }
        scripted.shows("cad")
        eventually("the first is sent") { scripted.fake.asked.size > 1 }
        same(scripted.fake.asked.size, 2, "edits are sent one by one")
        refuse.countDown()
        scripted.shows("ac")
        refused.join()
        other.join()
        val keys = scripted.fake.asked.drop(1).map { it.headers["idempotency-key"] }
        same(keys.toSet().size, 2, "each has its own key")
        // Insert and move; then the delete; then both back.
        same(scripted.steps, listOf(0, 2, 1, 2))
        scripted.end()
    }
    test("an edit that was answered is shown until the list has it, or is as new without it") {
        val scripted = Scripted({ it.json(DONE) })
        scripted.client.settleMillis = 60_000
        same(scripted.client.edit(toStart), "2-b")
        scripted.shows("cab")
        stays("cab is shown", 300) { scripted.seen.ids == "cab" }
        scripted.tell("id: 2-b\n\n")
        scripted.shows("abc")
        scripted.end()
    }
    test("where no event comes it is asked") {
        val scripted = Scripted(
            { it.json(DONE) }, { it.json("""{"from":"1-a","to":"2-b","dialect":"keyed","changes":$MOVE}""") },
            { it.stream().hold() })
        scripted.client.settleMillis = 100
        scripted.client.edit(toStart)
        eventually("a stream follows") { scripted.fake.asked.size == 4 }
        val asked = scripted.fake.asked
        val (read, stream) = asked[2] to asked[3]
        same(listOf(read.headers["accept"], read.query["since"], read.query["wait"], stream.query["since"]),
            listOf<String?>("application/json", "1-a", null, "2-b"))
        same(scripted.seen.ids, "cab")
        same(scripted.steps, listOf(0, 1, 0))
        scripted.end()
    }
    test("a session that begins anew drops what was answered before") {
        val done = """{"to":"9-z"}"""
        val scripted = Scripted({ it.json(done) }, { it.json(reset("1-q", "x", "a", "c")) }, { it.hold() })
        scripted.client.settleMillis = 100
        scripted.client.edit(toStart)
        scripted.shows("xac")
        scripted.end()
    }
    test("a session made again is shown without what was answered before, but with what is under way") {
        val mayAnswer = CountDownLatch(1)
        val scripted = Scripted(
            { it.json(DONE) }, { mayAnswer.await(); it.json("""{"to":"2-r"}""") },
            { it.stream(reset("1-q", "a", "b", "c", reason = "unknown")).hold() })
        scripted.client.settleMillis = 60_000
        scripted.client.edit(toStart)
        scripted.event(MOVE)
        eventually("the list has it") { scripted.seen.updates.last().followed.revision == "2-b" }
        val writer = thread { scripted.client.edit(insert("d")) }
        scripted.shows("cabd")
        eventually("it is sent") { scripted.fake.asked.size == 3 }
        scripted.tell("event: end\ndata: {}\n\n")
        eventually("the session is another one") { scripted.seen.updates.last().followed.revision == "1-q" }
        same(scripted.seen.ids, "abcd")
        mayAnswer.countDown()
        writer.join()
        stays("abcd is shown, though the list does not have it yet", 100) { scripted.seen.ids == "abcd" }
        scripted.end()
    }
    test("the real server: confirmed edits are not shown on a session made again") {
        val session = newSession()
        post(session, listOf("a", "b", "c"))
        val seen = Seen()
        val client = DiffClient(serverURL, session, transport = HttpClientTransport())
        val following = client.follow(onStatus = { seen.statuses.add(it) }) { seen.updates.add(it) }
        eventually("it shows abc") { seen.ids == "abc" }
        client.edit(toStart)
        client.edit(insert("d"))
        eventually("both are confirmed") { seen.updates.last().followed.list.rows.size == 4 }
        same(seen.ids, "cabd")
        request("DELETE", "sessions/$session")
        eventually("it is gone") { (seen.statuses.last() as? Status.Waiting)?.problem?.status == 404 }
        post(session, listOf("a", "b", "c"))
        eventually("it is there again") { seen.updates.last().followed.revision!!.startsWith("1-") }
        pause(100, "a server that tells of the first two edits again")
        val again = seen.updates.toList().dropWhile { (it.change as? Change.Reset)?.reason != "unknown" }
        same(again.map { each -> each.list.rows.joinToString("") { it.id } }, listOf("abc"))
        following.cancel()
    }
    test("edits are shown, and taken back, while the connection is down") {
        val fake = Fake({ it.stream(reset("1-a", "a", "b", "c")).raw("retry: 60000\n\n") }, { it.hold() })
        val seen = Seen()
        val client = DiffClient(fake.url, "s", transport = HttpClientTransport())
        val following = client.follow(onStatus = { seen.statuses.add(it) }) { seen.updates.add(it) }
        eventually("it waits") { seen.statuses.lastOrNull() is Status.Waiting }
        val writer = thread { throws<InterruptedException>("interrupted") { client.edit(toStart) } }
        // Long before it asks again.
        eventually("it shows cab", seconds = 5) { seen.ids == "cab" }
        writer.interrupt()
        eventually("it shows abc", seconds = 5) { seen.ids == "abc" }
        same(seen.updates.size, 3)
        following.cancel()
        fake.close()
    }
    test("an edit that is interrupted is taken back, and the next one is sent") {
        val scripted = Scripted({ it.hold() }, { it.json(DONE) })
        val given = thread { throws<InterruptedException>("interrupted") { scripted.client.edit(toStart) } }
        scripted.shows("cab")
        eventually("it is sent") { scripted.fake.asked.size == 2 }
        val waiting = thread { throws<InterruptedException>("interrupted") { scripted.client.edit(insert("z")) } }
        scripted.shows("cabz")
        waiting.interrupt()
        scripted.shows("cab")
        val next = thread { scripted.client.edit(insert("d")) }
        scripted.shows("cabd")
        given.interrupt()
        scripted.shows("abcd")
        next.join(10_000)
        same(scripted.fake.asked.size, 3)
        scripted.end()
    }
    test("a like is shown on top of what others write meanwhile, and rows that are to be drawn again are") {
        val refuse = CountDownLatch(1)
        val scripted = Scripted({ refuse.await(); it.refuse(422) })
        val writer = thread { throws<ProblemException>("422") { scripted.client.edit(like("a")) } }
        eventually("it is shown") { scripted.seen.updates.size == 2 }
        scripted.event("""[{"op":"update","items":[{"id":"a","content":{"likes":5}},{"id":"b"}],"as":"reload"}]""")
        eventually("the other one is shown") { scripted.seen.updates.size == 3 }
        refuse.countDown()
        writer.join()
        eventually("it is taken back") { scripted.seen.updates.size == 4 }
        same(scripted.seen.updates.drop(1).map { it.list.rows[0].content.toString() },
            listOf("""{"likes":1}""", """{"likes":6}""", """{"likes":5}"""))
        val told = (scripted.seen.updates[2].change as Change.Keyed).operations
        same(told.toString(),
            """[{"op":"update","items":[{"id":"a","content":{"likes":6}},{"id":"b"}],"as":"reload"}]""")
        scripted.end()
    }
    test("likes of two clients add up, though answers are lost") {
        val session = newSession()
        post(session, listOf(mapOf("id" to "a", "content" to mapOf("likes" to 0))))
        val clients = listOf<Transport>(HttpClientTransport(), Losing(HttpClientTransport(), 0))
            .map { DiffClient(serverURL, session, transport = it) }
        val seen = clients.map { Seen() }
        val followings = clients.mapIndexed { at, client -> client.follow { seen[at].updates.add(it) } }
        eventually("both follow") { seen.all { it.ids == "a" } }
        val losing = clients[1].transport as Losing
        (0..19).map { round ->
            if (round % 7 == 3) losing.losses = 1
            thread { clients[round % 2].edit(like("a")) }.also { pause(7, "two who like by turns") }
        }.forEach { it.join() }
        for (each in seen) {
            eventually("20 likes") { each.updates.last().list.rows[0].content!!["likes"]!!.int == 20 }
        }
        same(rowsOf(session).rows[0].content.toString(), """{"likes":20}""")
        followings.forEach { it.cancel() }
    }
}

/** A state with everything expanded. */
private fun unfolded(value: Any?): Any? = when (value) {
    is Map<*, *> -> value.filterKeys { it != "expanded" }.mapValues { unfolded(it.value) }
    is List<*> -> value.map(::unfolded)
    else -> value
}

/** An edit, fitting or not, of the rows shown. */
private fun Random.anyEdit(list: RowList<*>, count: String): Edit {
    val ids = list.rows.map { it.id } + "nobody"
    val sections = list.sections.map { it.id } + "nowhere"
    val (name, names) = if (nextInt(4) > 0) "items" to ids else "sections" to sections
    fun some(from: List<String> = names) = from.dropLast(if (from.size > 1 && nextInt(8) > 0) 1 else 0).random(this)
    fun several() = (0..nextInt(2)).map { some() }
    val anchors = listOf<Any?>(some(), null, several(), several() + listOf(null), several() + listOf(some()))
    val end = "at" to listOf("start", "end").random(this)
    val into = "into" to listOf(
        mapOf("item" to some(ids)), mapOf("section" to some(sections)), some(ids + sections)).random(this)
    val place = when (nextInt(if (name == "items") 7 else 5)) {
        0, 1 -> arrayOf<Pair<String, Any?>>("before" to anchors.random(this))
        2 -> arrayOf<Pair<String, Any?>>("after" to anchors.random(this))
        3 -> emptyArray()
        4 -> arrayOf<Pair<String, Any?>>(end)
        5 -> arrayOf<Pair<String, Any?>>(into)
        else -> arrayOf<Pair<String, Any?>>(into, end)
    }
    val intents = listOf<Map<String, Any?>>(
        mapOf("patch" to mapOf("n" to null, "m" to mapOf("a" to if (nextBoolean()) 1 else null))),
        mapOf("patch" to nextInt(3)), mapOf("add" to mapOf("/n" to 1)), mapOf("add" to mapOf("" to 0.25)),
        mapOf("patch" to mapOf("n" to 0.2, "l" to listOf(1, mapOf("n" to null))), "add" to mapOf("/n" to 0.1)),
        mapOf("add" to mapOf("/deep/b/0" to 1, "/m~1/~0" to -1)), mapOf("content" to nextInt(3)),
        mapOf("expanded" to nextBoolean()), mapOf("kind" to "k"), mapOf("add" to mapOf("/n" to "9")))
    val new = mapOf("id" to "n$count", "items" to listOf(if (nextInt(5) > 0) "m$count" else some(ids)))
    return when (nextInt(10)) {
        0, 1 -> edit("insert", name to listOf(new), *place)
        2, 3, 4 -> edit("move", name to several(), *place)
        5 -> edit("delete", name to several())
        6, 7 -> edit("update", name to several().map { mapOf("id" to it) + intents.random(this) })
        8 -> edit(listOf("expand", "collapse", "reload", "reconfigure").random(this), name to several())
        else -> if (nextInt(4) > 0) edit("clear", name to several()) else edit("clear")
    }
}

private fun Random.boardEdit(list: RowList<*>, count: String): Edit {
    val (ids, sections) = list.rows.map { it.id } to list.sections.map { it.id }
    val place = when (nextInt(4)) {
        0 -> "before" to listOf(ids.random(this), ids.random(this), null)
        1 -> "after" to ids.random(this)
        2 -> "into" to mapOf("section" to sections.random(this))
        else -> "into" to mapOf("item" to ids.random(this))
    }
    return when (nextInt(9)) {
        0, 1 -> edit("insert", "items" to listOf(mapOf("id" to count, "content" to mapOf("n" to 0))), place)
        2 -> edit("delete", "items" to listOf(ids.random(this)))
        3 -> edit("update", "items" to listOf(mapOf("id" to ids.random(this), "add" to mapOf("/n" to 0.1))))
        4 -> edit("update", "items" to listOf(mapOf("id" to ids.random(this), "patch" to mapOf("by" to count))))
        5 -> edit(listOf("collapse", "expand").random(this), "items" to listOf(ids.random(this)))
        6 -> edit("move", "sections" to listOf(sections.random(this)), "at" to "start")
        else -> edit("move", "items" to listOf(ids.random(this)), place)
    }
}

/** Each update starts from the previous one, and in the end both show what the server has. */
private fun together(dialect: Dialect, poll: Boolean) {
    class Side(session: String) {
        val client = DiffClient(serverURL, session, dialect = dialect, transport = HttpClientTransport())
        val adapter = PlainAdapter()
        val screen = Screen(adapter)
        val wrong: MutableList<String> = CopyOnWriteArrayList()
        @Volatile var list: RowList<JsonValue>? = null
        @Volatile var own = 0
        val following = client.follow(poll = poll, onUpdate = ::take)

        private fun take(update: ListUpdate<JsonValue>) = try {
            list?.let { holds(update.before === it, "an update leads from another list") }
            if (update.followed.list !== update.list) own += 1
            val change = update.change
            if (change is Change.Keyed) {
                same(update.before.applyingKeyed(change.operations, plain).sections, update.list.sections, change)
            }
            adapter.show(update)
            screen.layOut()
            list = update.list
        } catch (error: Throwable) {
            wrong.add("$error")
            list = update.list
        }
    }
    val random = Random(dialect.ordinal * 2 + if (poll) 1 else 0)
    val session = newSession()
    fun item(id: String) = mapOf("id" to id, "content" to mapOf("n" to 0))
    post(session, mapOf("sections" to listOf("x" to "abcdef", "y" to "ghij", "z" to "").map { (id, items) ->
        mapOf("id" to id, "content" to id, "items" to items.map { item("$it") })
    }))
    val sides = listOf(Side(session), Side(session))
    eventually("both follow") { sides.all { it.list != null } }
    val outcomes = CopyOnWriteArrayList<Int>()
    (0 until 60).map { round ->
        val side = sides.random(random)
        val list = side.list!!
        val edits = (0..random.nextInt(2)).map { random.boardEdit(list, "$round.$it") }
        val writer = thread {
            try {
                side.client.edit(*edits.toTypedArray())
                outcomes.add(200)
            } catch (refused: ProblemException) {
                outcomes.add(refused.problem.status ?: 0)
            }
        }
        pause(3L + random.nextInt(40), "two who edit at any time")
        writer
    }.forEach { it.join() }
    holds(outcomes.all { it == 200 || it == 422 } && outcomes.count { it == 200 } > 30, outcomes)
    val rows = rowsOf(session)
    for (side in sides) {
        eventually("both show what the server has", state = { "${side.list}\n$rows" }) { side.list == rows }
        side.following.cancel()
        side.following.join()
        same(side.wrong.toList(), emptyList<String>())
        holds(side.own > 5, "${side.own} updates with edits")
    }
}
