// The real server, states to send it, and requests to it that need no client.

import android.content.Context
import android.view.View
import android.view.ViewGroup
import androidx.recyclerview.widget.RecyclerView
import diffserver.Decoder
import diffserver.Entry
import diffserver.HttpClientTransport
import diffserver.JsonValue
import diffserver.Request
import diffserver.RowsAdapter
import diffserver.RowList
import kotlin.random.Random

val serverURL: String = System.getenv("DIFFSERVER_URL")

/** The same server, behind proxies that can be made to fail: see `run`. */
val proxyURL: String = System.getenv("PROXY_URL") ?: serverURL

object Proxies {
    /** Sends `run` a command, and waits until it is done. */
    fun tell(command: String) {
        println("!$command")
        System.out.flush()
        same(readLine(), "done", command)
    }
}

private val direct = HttpClientTransport()
private var sessions = 0

fun newSession() = "kotlin-${System.nanoTime()}-${sessions++}"

fun request(method: String, path: String, body: Any? = null): JsonValue {
    val bytes = body?.let { JsonValue.of(it).toString().toByteArray() }
    val type = mapOf("Content-Type" to "application/json")
    val response = direct.call(Request(method, "$serverURL/v1/$path", type, bytes)).execute()
    val text = response.body.use { it.readBytes() }.toString(Charsets.UTF_8)
    holds(response.status < 300, "$method $path: ${response.status} $text")
    return if (text == "") JsonValue.Null else JsonValue.parse(text)
}

fun post(session: String, state: Any) = request("POST", "sessions/$session/changes", mapOf("state" to state))

/** Contents stay JSON. */
val plain: Decoder<JsonValue> = { it }

fun rowList(state: JsonValue) = RowList.of(state, plain)

/** What a reader without a base is told. */
fun rowsOf(session: String) = rowList(request("GET", "sessions/$session/changes")["state"]!!)

/** A random state: sections, nesting, kinds, contents, collapsed parts, awkward ids. */
fun Random.state(): Map<String, Any?> {
    val odd = listOf<Any>("a", "b", 1, "2", "é", "e\u0301", "__proto__", "x y", "\"", "long-".repeat(20))
    val pool = (odd + (0..13).map { "i$it" }).shuffled(this).toMutableList()
    fun content(): Any? = when (nextInt(5)) {
        0 -> null
        1 -> "t${nextInt(3)}"
        2 -> mapOf("title" to "t${nextInt(4)}", "deep" to mapOf("a" to nextInt(3), "b" to listOf(nextInt(3))))
        3 -> mapOf("title" to "a rather long title that makes a patch worth while", "n" to nextInt(9))
        else -> nextInt(100)
    }
    fun item(level: Int): Map<String, Any?> {
        val made = linkedMapOf<String, Any?>("id" to pool.removeAt(0))
        if (nextInt(3) > 0) made["content"] = content()
        if (nextInt(3) == 0) made["kind"] = "k${nextInt(2)}"
        if (level < 3 && nextInt(3) == 0) {
            made["items"] = (0 until nextInt(4)).mapNotNull { if (pool.isEmpty()) null else item(level + 1) }
            if (nextInt(3) == 0) made["expanded"] = false
        }
        return made
    }
    val sections = listOf<Any>("s", "t", 1, "__proto__", "u").shuffled(this).take(nextInt(5)).map { id ->
        val made = linkedMapOf<String, Any?>("id" to id)
        if (nextInt(3) > 0) made["content"] = content()
        if (nextInt(6) == 0) made["expanded"] = false
        made["items"] = (0 until nextInt(7)).mapNotNull { if (pool.isEmpty()) null else item(0) }
        made
    }
    val state = linkedMapOf<String, Any?>("sections" to sections)
    if (nextInt(3) == 0) state["content"] = content()
    return state
}

/** A state in which only the contents of some top-level items differ. */
@Suppress("UNCHECKED_CAST")
fun Random.touched(state: Map<String, Any?>): Map<String, Any?> =
    state + ("sections" to (state["sections"] as List<Map<String, Any?>>).map { section ->
        section + ("items" to (section["items"] as List<Map<String, Any?>>).map { item ->
            if (nextInt(5) == 0) item + ("content" to mapOf("touched" to nextInt(), "text" to "one of ours")) else item
        })
    })

/** Shows lists as an app would. */
class PlainAdapter : RowsAdapter<JsonValue, PlainAdapter.Holder>() {
    class Holder : RecyclerView.ViewHolder(View(Context())) {
        var entry: Entry<JsonValue>? = null
    }

    override fun onCreateViewHolder(parent: ViewGroup, viewType: Int) = Holder()

    override fun bind(holder: Holder, entry: Entry<JsonValue>) {
        holder.entry = entry
    }
}

/**
 * What RecyclerView draws: holders by position. It throws if notifications or counts do not fit, as RecyclerView does.
 */
class Screen(private val adapter: PlainAdapter) : RecyclerView.Observer {
    private class Cell(val holder: PlainAdapter.Holder?, val viewType: Int, val isDirty: Boolean)

    private var cells = adapter.entries.map { Cell(null, 0, true) }.toMutableList()
    var moves = 0
    var told = 0
    var rebound = 0

    init {
        adapter.registerAdapterDataObserver(this)
    }

    private fun require(at: Int, count: Int, size: Int) {
        told += 1
        check(count > 0 && at >= 0 && at + count <= size) { "Inconsistency detected: $count at $at of $size" }
    }

    override fun changed() {
        cells = MutableList(adapter.getItemCount()) { Cell(null, 0, true) }
    }

    override fun changed(at: Int, count: Int, payload: Any?) {
        require(at, count, cells.size)
        for (place in at until at + count) {
            val cell = cells[place]
            cells[place] = Cell(cell.holder.takeIf { payload != null }, cell.viewType, true)
        }
    }

    override fun inserted(at: Int, count: Int) {
        require(at, count, cells.size + count)
        cells.addAll(at, List(count) { Cell(null, 0, true) })
    }

    override fun removed(at: Int, count: Int) {
        require(at, count, cells.size)
        cells.subList(at, at + count).clear()
    }

    override fun moved(from: Int, to: Int) {
        require(from, 1, cells.size)
        check(to in cells.indices && to != from) { "Inconsistency detected: $from to $to of ${cells.size}" }
        moves += 1
        cells.add(to, cells.removeAt(from))
    }

    /** Draws what is new or changed, and checks the rest. */
    fun layOut() {
        val count = adapter.getItemCount()
        check(cells.size == count) { "Inconsistency detected: ${cells.size} cells, $count items" }
        for ((at, cell) in cells.withIndex()) {
            val viewType = adapter.getItemViewType(at)
            if (cell.isDirty) {
                if (cell.holder != null) {
                    check(viewType == cell.viewType) { "a holder of another type is filled again at $at" }
                    rebound += 1
                }
                val holder = cell.holder ?: PlainAdapter.Holder()
                adapter.onBindViewHolder(holder, at, mutableListOf())
                cells[at] = Cell(holder, viewType, false)
            }
        }
        same(cells.map { it.holder!!.entry!!.drawn() }, adapter.list.entriesDrawn(), "what is drawn")
    }

    private fun Entry<*>.drawn() = when (this) {
        is Entry.Item -> row
        is Entry.Header -> section.copy(rows = emptyList())
    }

    private fun RowList<*>.entriesDrawn(): List<Any> = sections.flatMap { section ->
        val header = if (section.content == null) emptyList() else listOf<Any>(section.copy(rows = emptyList()))
        header + section.rows
    }
}
