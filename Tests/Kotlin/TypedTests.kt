// Edits, views, ids and contents as an app writes and reads them.

import diffserver.At
import diffserver.Dialect
import diffserver.DiffClient
import diffserver.Edge
import diffserver.Edit
import diffserver.Entry
import diffserver.Followed
import diffserver.HttpClientTransport
import diffserver.JsonValue
import diffserver.ListUpdate
import diffserver.NewItem
import diffserver.NewSection
import diffserver.ProblemException
import diffserver.Row
import diffserver.RowGroup
import diffserver.RowTest
import diffserver.RowView
import diffserver.RowsAdapter
import diffserver.Section
import diffserver.Status
import diffserver.updates
import java.math.BigInteger
import java.util.UUID
import java.util.concurrent.CopyOnWriteArrayList
import kotlin.concurrent.thread
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.flow.*

private class Fire(val title: String, val likes: Int) {
    constructor(json: JsonValue) : this(json["title"]!!.string!!, json["likes"]?.int ?: 0)

    fun json() = JsonValue.objectOf("title" to title, "likes" to likes)
}

private fun fire(id: Any, title: String, vararg more: Pair<String, Any?>) =
    mapOf("id" to id, "content" to mapOf("title" to title, *more))

private val uuid = UUID.fromString("0E37DF36-F698-11E6-8DD4-CB9CED3DF976")

/** What an app writes, and what the server is to read. */
private val written = listOf(
    Edit.insert("a", 1) to """{"op":"insert","items":["a",1]}""",
    Edit.insert(Row("a", JsonValue.of(1), "k", isExpanded = false), before = null) to
        """{"op":"insert","items":[{"id":"a","content":1,"kind":"k","expanded":false}],"before":null}""",
    Edit.insert(NewItem("a", null, "k", false, listOf("b", NewItem(2, mapOf("x" to listOf(true))))), at = Edge.START) to
        """{"op":"insert","items":[{"id":"a","content":null,"kind":"k","expanded":false,"items":["b",""" +
            """{"id":2,"content":{"x":[true]}}]}],"at":"start"}""",
    Edit.insertElements(listOf(mapOf("uid" to 7)), after = "b") to
        """{"op":"insert","elements":[{"uid":7}],"after":"b"}""",
    Edit.insertElements(mapOf("a" to 1)) to """{"op":"insert","elements":{"a":1}}""",
    Edit.insert(NewItem("a"), before = "b") to """{"op":"insert","items":[{"id":"a"}],"before":"b"}""",
    Edit.move("a", before = null) to """{"op":"move","items":["a"],"before":null}""",
    Edit.move(listOf("a", 2L), "c", after = listOf(3, null)) to
        """{"op":"move","items":["a",2,"c"],"after":[3,null]}""",
    Edit.move("a", after = null) to """{"op":"move","items":["a"],"after":null}""",
    Edit.move("a", into = "b", at = Edge.END) to """{"op":"move","items":["a"],"into":"b","at":"end"}""",
    Edit.move(Row("a", 1), into = Section<Any>("s")) to """{"op":"move","items":["a"],"into":{"section":"s"}}""",
    Edit.move("a", into = Row("b", 1)) to """{"op":"move","items":["a"],"into":{"item":"b"}}""",
    Edit.move(uuid, before = Row<Any>("b")) to """{"op":"move","items":["$uuid"],"before":"b"}""",
    Edit.move(BigInteger("9007199254740993"), 7.toShort()) to """{"op":"move","items":[9007199254740993,7]}""",
    Edit.delete("a", "b") to """{"op":"delete","items":["a","b"]}""",
    Edit.update("a", null) to """{"op":"update","items":[{"id":"a","content":null}]}""",
    Edit.update("a", Fire("x", 1).json()) to
        """{"op":"update","items":[{"id":"a","content":{"title":"x","likes":1}}]}""",
    Edit.update("a", kind = "k", isExpanded = false) to
        """{"op":"update","items":[{"id":"a","kind":"k","expanded":false}]}""",
    Edit.patch("a", mapOf("by" to null)) to """{"op":"update","items":[{"id":"a","patch":{"by":null}}]}""",
    Edit.patch("a", null) to """{"op":"update","items":[{"id":"a","patch":null}]}""",
    Edit.add("a", "/likes", 1) to """{"op":"update","items":[{"id":"a","add":{"/likes":1}}]}""",
    Edit.add("a", mapOf<String, Number>("/likes" to -1, "/sum" to 0.5), mapOf("by" to "ann")) to
        """{"op":"update","items":[{"id":"a","patch":{"by":"ann"},"add":{"/likes":-1,"/sum":0.5}}]}""",
    Edit.reload("a") to """{"op":"reload","items":["a"]}""",
    Edit.reconfigure("a") to """{"op":"reconfigure","items":["a"]}""",
    Edit.expand("a") to """{"op":"expand","items":["a"]}""",
    Edit.collapse("a") to """{"op":"collapse","items":["a"]}""",
    Edit.clear("a") to """{"op":"clear","items":["a"]}""",
    Edit.clearAll() to """{"op":"clear"}""",
    Edit.sections.insert(NewSection("s", "S", items = listOf(NewItem("a", 1), "b")), NewSection(2), before = null) to
        """{"op":"insert","sections":[{"id":"s","content":"S","items":[{"id":"a","content":1},"b"]},{"id":2}],""" +
            """"before":null}""",
    Edit.sections.move("s", after = listOf("t", "u")) to """{"op":"move","sections":["s"],"after":["t","u"]}""",
    Edit.sections.move(Section<Any>("s"), at = Edge.START) to """{"op":"move","sections":["s"],"at":"start"}""",
    Edit.sections.update("s", 1, true) to """{"op":"update","sections":[{"id":"s","content":1,"expanded":true}]}""",
    Edit.sections.patch("s", 1) to """{"op":"update","sections":[{"id":"s","patch":1}]}""",
    Edit.sections.add("s", "", 1) to """{"op":"update","sections":[{"id":"s","add":{"":1}}]}""",
    Edit.sections.delete("s") to """{"op":"delete","sections":["s"]}""",
    Edit.sections.collapse("s") to """{"op":"collapse","sections":["s"]}""",
    Edit.sections.expand("s") to """{"op":"expand","sections":["s"]}""",
    Edit.sections.reload("s") to """{"op":"reload","sections":["s"]}""",
    Edit.sections.reconfigure("s") to """{"op":"reconfigure","sections":["s"]}""",
    Edit.sections.clear("s") to """{"op":"clear","sections":["s"]}"""
)

private fun <T> follow(client: DiffClient<T>, act: (List<ListUpdate<T>>, List<Status>) -> Unit) {
    val updates = CopyOnWriteArrayList<ListUpdate<T>>()
    val statuses = CopyOnWriteArrayList<Status>()
    val following = client.follow(onStatus = { statuses.add(it) }) { updates.add(it) }
    try {
        act(updates, statuses)
    } finally {
        following.cancel()
        following.join()
    }
}

fun Suite.typedTests() {
    test("edits are written as the server reads them") {
        for ((edit, json) in written) same(edit.toString(), json)
    }
    test("what is no id, and what is no content, is refused before it is sent") {
        for (wrong in listOf(1.5, true, mapOf("id" to "a"), Any())) {
            throws<IllegalArgumentException>(wrong) { Edit.move(wrong) }
            throws<IllegalArgumentException>(wrong) { Edit.move("a", before = wrong) }
            throws<IllegalArgumentException>(wrong) { RowView(sections = listOf(wrong)) }
        }
        throws<IllegalArgumentException>("a content") { Edit.update("a", Fire("x", 1)) }
        throws<IllegalArgumentException>("into null") { Edit.move("a", into = null) }
    }
    test("the server does typed edits, several in one call") {
        val client = DiffClient(serverURL, newSession(), transport = HttpClientTransport())
        client.post(JsonValue.of(listOf(NewItem(uuid, mapOf("n" to 1)), "a")))
        client.edit(
            Edit.sections.insert(NewSection("s", "S", items = listOf("b", NewItem(2, items = listOf("c"))))),
            Edit.move(2, before = listOf("gone", uuid)), Edit.add(uuid, mapOf("/n" to 2), mapOf("by" to "ann")),
            Edit.insert(NewItem("d", 4, "k"), into = "s", at = Edge.START),
            Edit.sections.update("s", isExpanded = true), Edit.collapse(2), Edit.move("a", before = null))
        val rows = rowsOf(client.session)
        same(rows.sections.map { section -> section.id + section.rows.map { it.id } },
            listOf("main[2, $uuid]", "s[d, b, a]"))
        same(rows.rows[1].content.toString(), """{"n":3,"by":"ann"}""")
        same(rows.sections[1].rows[0], Row<JsonValue>("d", JsonValue.of(4), "k"))
        client.edit(Edit.delete("gone"), Edit.sections.clear("main"), Edit.sections.delete("s"))
        same(rowsOf(client.session).sections.map { it.id to it.rows.size }, listOf("main" to 0))
    }
    for (dialect in Dialect.values()) {
        test("contents are the app's own, read once each, before and after the answer to an edit: $dialect") {
            val session = newSession()
            post(session, listOf(fire("a", "one"), fire("b", "two"), "c"))
            val read = CopyOnWriteArrayList<String>()
            val client = DiffClient(serverURL, session, dialect = dialect, transport = HttpClientTransport()) {
                Fire(it).also { fire -> read.add(fire.title + fire.likes) }
            }
            follow(client) { updates, _ ->
                fun words(row: Row<Fire>) = row.content?.run { title + likes } ?: row.id
                fun shows(vararg fires: String) = eventually("it shows ${fires.toList()}", state = { read }) {
                    updates.lastOrNull()?.list?.rows?.map(::words) == fires.toList()
                }
                shows("one0", "two0", "c")
                val first = updates[0].list.rows
                client.edit(Edit.move("b", before = "a"), Edit.add("a", "/likes", 3))
                shows("two0", "one3", "c")
                holds(updates.last().list.rows[0] === first[1], "a row that moves is the same object")
                val refused = throws<ProblemException>("422") {
                    client.edit(Edit.patch("b", mapOf("title" to "no")), Edit.insert("a"))
                }
                same(refused.problem.errors.map { it.code }, listOf("duplicate-id"))
                holds("no0" !in read, "what cannot be is not shown at all")
                post(session, listOf(fire("b", "two"), fire("a", "one", "likes" to 4), fire("c", "three")))
                shows("two0", "one4", "three0")
                holds(updates.last().list.rows[0].content === first[1].content, "a content that stays is the same")
                same(updates.last().list.rows[1].json.toString(), """{"title":"one","likes":4}""")
            }
            // Until the answer, an edit is done once more to a list that holds it already.
            same(read.toSet() - "one6", setOf("one0", "two0", "one3", "one4", "three0"))
            same(read.count { it == "two0" }, 1)
        }
    }
    test("an adapter binds the app's own contents") {
        class Adapter(val bound: ArrayList<String> = ArrayList()) : RowsAdapter<Fire, PlainAdapter.Holder>() {
            override fun onCreateViewHolder(parent: android.view.ViewGroup, viewType: Int) = PlainAdapter.Holder()
            override fun bind(holder: PlainAdapter.Holder, entry: Entry<Fire>) {
                bound.add(when (entry) {
                    is Entry.Header -> entry.section.content!!.string!!
                    is Entry.Item -> entry.row.content!!.title
                })
            }
        }
        val session = newSession()
        post(session, mapOf("sections" to listOf(
            mapOf("id" to "s", "content" to "header", "items" to listOf(fire("a", "one"))))))
        val adapter = Adapter()
        follow(DiffClient(serverURL, session, dialect = Dialect.SEQUENTIAL, decoder = { Fire(it) })) { updates, _ ->
            eventually("it follows") { updates.size == 1 }
            adapter.show(updates[0])
        }
        for (at in 0 until adapter.getItemCount()) adapter.onBindViewHolder(PlainAdapter.Holder(), at)
        same(adapter.bound, arrayListOf("header", "one"))
    }
    test("a content that cannot be read ends it, says which, and leaves what is shown; an edit to one is not shown") {
        val session = newSession()
        post(session, listOf(fire("a", "one")))
        val client = DiffClient(serverURL, session, transport = HttpClientTransport(), decoder = { Fire(it) })
        follow(client) { updates, statuses ->
            eventually("it follows") { updates.size == 1 }
            post(session, listOf(fire("a", "one"), mapOf("id" to "b", "content" to 7)))
            eventually("it stops") { statuses.lastOrNull() is Status.Stopped }
            val problem = (statuses.last() as Status.Stopped).problem
            same(problem.title, "A content cannot be read")
            holds(problem.detail!!.startsWith("row \"b\": "), problem)
            same(updates.size, 1)
        }
        throws<ProblemException>("it ends") { runBlocking { client.updates().collect { } } }
        val fake = Fake({ it.stream(reset("1-a", "a")).hold() }, { it.refuse(422) },
            { it.json("""{"session":"s","from":"1-a","to":"2-b"}""") }, { it.hold() })
        val scripted = DiffClient(fake.url, "s", transport = HttpClientTransport(), decoder = { Fire(it) })
        follow(scripted) { updates, statuses ->
            eventually("it follows") { updates.size == 1 }
            throws<ProblemException>("422") { scripted.edit(Edit.update("a", 7)) }
            scripted.edit(Edit.update("a", fire("a", "one")["content"]))
            eventually("it is shown") { updates.size == 2 }
            same(statuses.toList(), listOf<Status>(Status.Live(true)))
        }
        fake.close()
    }
    test("a typed edit is shown at once, and taken back where it is refused") {
        val wanted = java.util.concurrent.CountDownLatch(1)
        val fake = Fake({ it.stream(reset("1-a", "a", "b", "c")).hold() }, { wanted.await(); it.refuse(422) })
        val client = DiffClient(fake.url, "s", transport = HttpClientTransport(), decoder = { Fire(it) })
        follow(client) { updates, _ ->
            eventually("it follows") { updates.size == 1 }
            val row = updates[0].list.rows[2]
            val edits = arrayOf(Edit.move(row, after = null), Edit.update("a", Fire("new", 1).json()))
            val writer = thread { throws<ProblemException>("422") { client.edit(*edits) } }
            eventually("it is shown") { updates.size == 2 }
            same(updates[1].list.rows.map { it.id + it.content?.title.orEmpty() }, listOf("c", "anew", "b"))
            wanted.countDown()
            writer.join()
            eventually("it is taken back") { updates.size == 3 }
            same(updates[2].list, updates[0].list)
        }
        fake.close()
    }
    viewTests()
}

private fun Suite.viewTests() {
    test("views are written as the server reads them") {
        same(RowView().toString(), "{}")
        same(RowView(
            listOf("s", 1, uuid), listOf(At("/kind") eq "k"), listOf(At("/id").ascending), RowGroup("/content/t", 1),
            listOf(At("/id").descending), false, listOf("s"), listOf(2), 3, listOf("/content"), emptyList(), listOf()
        ).toString(), """{"sections":["s",1,"$uuid"],"where":[{"at":"/kind","is":"k"}],"order":[{"at":"/id"}],""" +
            """"group":{"at":"/content/t","prefix":1},"sectionOrder":[{"at":"/id","descending":true}],""" +
            """"emptySections":false,"collapsed":{"sections":["s"],"items":[2]},"limit":3,"fields":["/content"],""" +
            """"sectionFields":[],"listFields":[]}""")
        same(RowView(collapsedItems = listOf("a")).toString(), """{"collapsed":{"items":["a"]}}""")
        same(RowView(where = listOf(At("/content") eq null)).toString(), """{"where":[{"at":"/content","is":null}]}""")
    }
    val (title, likes) = At("/content/title") to At("/content/likes")
    for ((view, shown) in listOf(
        RowView(where = listOf(title eq "Two")) to "b", RowView(where = listOf(title isNot "Two")) to "acd",
        RowView(where = listOf(title isIn listOf("One", "Two"))) to "ab", RowView(where = listOf(likes below 2)) to "a",
        RowView(where = listOf(likes atMost 2)) to "ab", RowView(where = listOf(likes above 2)) to "c",
        RowView(where = listOf(likes atLeast 2)) to "bc", RowView(where = listOf(title has "T")) to "bc",
        RowView(where = listOf((title has "T").folded)) to "bc",
        RowView(where = listOf((title has "E").folded)) to "ac",
        RowView(where = listOf(RowTest.any(title eq "ONE", title eq "two").folded)) to "ab",
        RowView(where = listOf(likes.exists)) to "abc",
        RowView(where = listOf(likes.isMissing)) to "d", RowView(where = listOf(At("/id") eq "d")) to "d",
        RowView(where = listOf(RowTest.any(title eq "One", RowTest.any(likes above 2)))) to "ac",
        RowView(where = listOf(likes atLeast 2, title has "w")) to "b", RowView(where = listOf(RowTest.any())) to "",
        RowView(order = listOf(likes.descending)) to "bacd", RowView(order = listOf(likes.ascending), limit = 1) to "a",
        RowView(sections = listOf("t")) to "c", RowView(collapsedSections = listOf("s")) to "cd",
        RowView(group = RowGroup("/content/title", 1), sectionOrder = listOf(At("/id").descending)) to "dbca",
        RowView.of(JsonValue.objectOf("limit" to 1)) to "a")) {
        test("a view is followed: $view") {
            val session = newSession()
            post(session, mapOf("sections" to listOf(
                mapOf("id" to "s", "items" to listOf(fire("a", "One", "likes" to 1), fire("b", "Two", "likes" to 2))),
                mapOf("id" to "t", "items" to listOf(fire("c", "Three", "likes" to 3))),
                mapOf("id" to "u", "items" to listOf("d")))))
            val client = DiffClient(serverURL, session, view = view, transport = HttpClientTransport()) { Fire(it) }
            follow(client) { updates, statuses ->
                eventually("it follows", state = { statuses.toList() }) { updates.size == 1 }
                same(updates[0].list.rows.joinToString("") { it.id }, shown)
            }
        }
    }
    test("without empty sections") {
        val session = newSession()
        post(session, mapOf("sections" to listOf("s", "t").map { mapOf("id" to it) }))
        val seen = listOf(true, false).map { emptySections ->
            var sections = -1
            follow(DiffClient(serverURL, session, view = RowView(emptySections = emptySections))) { updates, _ ->
                eventually("it follows") { updates.size == 1 }
                sections = updates[0].list.sections.size
            }
            sections
        }
        same(seen, listOf(2, 0))
    }
}
