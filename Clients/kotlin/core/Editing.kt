// Edits as the server carries them out, as far as rows can tell. Rows become a tree, the edits are applied to it, and
// it is written as rows again. In a view, a window or below a collapsed row not everything is known: hidden children
// are counted, and a row whose parent is outside keeps its level until it moves.

package diffserver

import java.math.BigDecimal

/**
 * This list after edits. Untouched parts stay the same objects. O(rows) for each edit.
 *
 * @throws Misfit if the server would refuse them.
 * @throws UnreadableContent if the decoder throws.
 */
fun <T> RowList<T>.edited(edits: List<Edit>, decoder: Decoder<T>): RowList<T> {
    val tree = EditedTree(this)
    for (edit in edits) tree.carryOut(edit.json)
    return tree.written(this, decoder)
}

private class EditedNode<T>(
    val id: String, var home: EditedNode<T>?, var content: JsonValue?, var isExpanded: Boolean
) {
    val nodes = ArrayList<EditedNode<T>>()
    var kind: String? = null
    /** Children that are not rows. */
    var hidden = 0
    /** As given, for what did not change. */
    var section: Section<T>? = null
    var row: Row<T>? = null
    /** Whether its parent is outside. */
    var isStray = false
}

private class EditedTree<T>(list: RowList<T>) {
    private val root = EditedNode<T>("", null, null, true)
    private val sections = HashMap<String, EditedNode<T>>()
    private val items = HashMap<String, EditedNode<T>>()

    init {
        for (section in list.sections) {
            val home = enter(sections, EditedNode(section.id, root, section.content, section.isExpanded))
            home.section = section
            for (row in section.rows) {
                val parent = if (row.parent == null) home else items[row.parent]
                val node = enter(items, EditedNode(row.id, parent ?: home, row.json, row.isExpanded))
                node.kind = row.kind
                node.hidden = row.children
                node.row = row
                node.isStray = parent == null
                if (parent != null) parent.hidden -= 1
            }
        }
    }

    // MARK: Edits

    fun carryOut(edit: JsonValue) {
        val members = edit.members("op", "items", "sections", "before", "after", "into", "at")
        val op = members.required("op").string
        if ("items" in members && "sections" in members) throw Misfit("an edit has items or sections, not both")
        val map = if ("sections" in members) sections else items
        val operands = (members["sections"] ?: members["items"])?.asArray()
        if (op == "clear") {
            return (operands?.map { find(map, it.id()) } ?: root.nodes).forEach(::empty)
        }
        if (operands == null) throw Misfit("an edit has items or sections")
        val places = listOf("before", "after", "into").filter { it in members }
        val hasPlace = places.isNotEmpty() || "at" in members
        if (hasPlace && op != "insert" && op != "move" || places.size > 1) throw Misfit("it has no such place")
        when (op) {
            "insert" -> {
                val (home, index) = place(members, map, emptySet())
                val first = index()
                operands.forEachIndexed { at, value -> bring(map, home, value, first + at) }
            }
            "move" -> move(operands.map { find(map, it.id()) }, members, map)
            "delete" -> for (id in operands) map[id.id()]?.let { node ->
                node.home!!.nodes.remove(node)
                forget(map, node)
            }
            "update" -> operands.forEach { update(map, it) }
            "expand", "collapse" -> for (id in operands) find(map, id.id()).isExpanded = op == "expand"
            "reload", "reconfigure" -> for (id in operands) find(map, id.id()) // the answer says how to draw it
            else -> throw Misfit("there is no such edit: $op")
        }
    }

    private fun move(nodes: List<EditedNode<T>>, members: Map<String, JsonValue>, map: Map<String, EditedNode<T>>) {
        val moved = nodes.toSet()
        if (moved.size < nodes.size) throw Misfit("it is moved twice")
        val (home, index) = place(members, map, moved)
        if (generateSequence(home) { it.home }.any { it in moved }) throw Misfit("it cannot go into itself")
        for (node in nodes) node.home!!.nodes.remove(node)
        home.nodes.addAll(index(), nodes)
        for (node in nodes) {
            node.home = home
            node.isStray = false
        }
    }

    /** Where an edit puts things: the parent, and a function of the index in it once they are taken out. */
    private fun place(
        members: Map<String, JsonValue>, map: Map<String, EditedNode<T>>, moved: Set<EditedNode<T>>
    ): Pair<EditedNode<T>, () -> Int> {
        val anchor = members["before"] ?: members["after"]
        val end = members["at"]?.string ?: "end"
        if (end != "start" && end != "end") throw Misfit("at is start or end")
        if (anchor != null) {
            if ("at" in members) throw Misfit("at beside an anchor")
            val offset = if ("after" in members) 1 else 0
            val anchors = (anchor.array ?: listOf(anchor)).map { if (it === JsonValue.Null) null else it.id() }
            if (anchors.dropLast(1).any { it == null }) throw Misfit("null can only be the last anchor")
            val id = anchors.find { it != null && map[it].let { node -> node != null && node !in moved } }
                ?: if (anchors.isEmpty()) throw Misfit("there is no anchor") else anchors.last()
            if (id == null) return end(map, null, isStart = offset == 1)
            val sibling = find(map, id)
            if (sibling in moved) throw Misfit("it is placed by the edit itself")
            val home = sibling.home!!
            return home to { home.nodes.indexOf(sibling) + offset }
        }
        return end(map, members["into"], end == "start")
    }

    private fun end(
        map: Map<String, EditedNode<T>>, into: JsonValue?, isStart: Boolean
    ): Pair<EditedNode<T>, () -> Int> {
        val home = when {
            into is JsonValue.Object -> into.members("section", "item").entries.singleOrNull()
                ?.let { (name, id) -> find(if (name == "item") items else sections, id.id()) }
            into != null -> listOf(sections, items).mapNotNull { it[into.id()] }.singleOrNull()
            map === sections -> root
            else -> if (isStart) root.nodes.firstOrNull() else root.nodes.lastOrNull()
        } ?: throw Misfit("there is not one thing to go into")
        if (map === sections && home !== root) throw Misfit("sections are in nothing")
        return home to { if (isStart) 0 else home.nodes.size }
    }

    /** An item or a section from an edit, with everything below it. */
    private fun bring(map: MutableMap<String, EditedNode<T>>, home: EditedNode<T>, value: JsonValue, at: Int) {
        val members = if (value !is JsonValue.Object) mapOf("id" to value)
        else value.members("id", "content", "expanded", "items", if (map === items) "kind" else "id")
        val id = members.required("id").id()
        val isExpanded = members["expanded"]?.flag() ?: true
        val node = enter(map, EditedNode(id, home, members["content"], isExpanded), at)
        node.kind = members["kind"]?.kind()
        for (child in members["items"]?.asArray().orEmpty()) bring(items, node, child, node.nodes.size)
    }

    private fun update(map: Map<String, EditedNode<T>>, value: JsonValue) {
        val members = value.members(
            "id", "content", "patch", "add", "append", "expanded", if (map === items) "kind" else "id")
        if ("content" in members && listOf("patch", "add", "append").any { it in members }) {
            throw Misfit("a content, and its change")
        }
        val node = find(map, members.required("id").id())
        members["content"]?.let { node.content = it }
        members["kind"]?.let { node.kind = it.kind() }
        members["expanded"]?.let { node.isExpanded = it.flag() }
        members["patch"]?.let { node.content = (node.content ?: JsonValue.Null).merging(it) }
        members["add"]?.let { node.content = node.content.adding(it) }
        members["append"]?.let { node.content = node.content.appending(it) }
    }

    private fun enter(
        map: MutableMap<String, EditedNode<T>>, node: EditedNode<T>, at: Int = node.home!!.nodes.size
    ): EditedNode<T> {
        if (map.put(node.id, node) != null) throw Misfit("the id \"${node.id}\" is here already")
        node.home!!.nodes.add(at, node)
        return node
    }

    private fun find(map: Map<String, EditedNode<T>>, id: String) = map[id] ?: throw Misfit("there is no \"$id\"")

    private fun forget(map: MutableMap<String, EditedNode<T>>, node: EditedNode<T>) {
        map.remove(node.id)
        for (child in node.nodes) forget(items, child)
    }

    private fun empty(node: EditedNode<T>) {
        for (child in node.nodes) forget(items, child)
        node.nodes.clear()
        node.hidden = 0
    }

    // MARK: Rows

    fun written(list: RowList<T>, decoder: Decoder<T>): RowList<T> {
        val written = root.nodes.map { node ->
            val rows = ArrayList<Row<T>>()
            if (node.isExpanded) write(node.nodes, 0, null, decoder, rows)
            val old = node.section
            val isOld = old != null && old.content == node.content && old.isExpanded == node.isExpanded
            if (isOld && rows.isSame(old!!.rows)) old else Section(node.id, node.content, node.isExpanded, rows)
        }
        return if (written.isSame(list.sections)) list else list.copy(sections = written)
    }

    private fun write(
        nodes: List<EditedNode<T>>, level: Int, parent: String?, decoder: Decoder<T>, rows: MutableList<Row<T>>
    ) {
        for (node in nodes) {
            val old = node.row
            val (place, above) = if (node.isStray) old!!.level to old.parent else level to parent
            val count = node.hidden + node.nodes.size
            val content = node.content.decoded(decoder, node.id, old)
            val row = Row(node.id, content, node.kind, place, above, node.isExpanded, count, node.content)
            rows.add(if (row == old) old else row)
            if (node.isExpanded) write(node.nodes, place + 1, node.id, decoder, rows)
        }
    }
}

internal fun List<Any>.isSame(other: List<Any>) = size == other.size && indices.all { this[it] === other[it] }

private fun JsonValue.kind() = string ?: throw Misfit("a kind is a string")

// MARK: Sums

private const val MAX_DIGITS = 18

/** A number that can be added, written like the server's sums. */
private fun JsonValue.decimal(): BigDecimal {
    val token = (this as? JsonValue.Number ?: throw Misfit("only numbers can be added")).token
    return try {
        BigDecimal(token).checked()
    } catch (error: NumberFormatException) {
        throw Misfit("the exponent of $token is too large")
    }
}

private fun BigDecimal.checked(): BigDecimal {
    if (signum() == 0) return BigDecimal.ZERO
    val stripped = stripTrailingZeros()
    val (precision, scale) = stripped.precision().toLong() to stripped.scale().toLong()
    val digits = maxOf(0, precision - scale) + maxOf(0, scale)
    return if (digits <= MAX_DIGITS) stripped else throw Misfit("a number has at most $MAX_DIGITS digits")
}

/** With amounts added to the numbers at JSON Pointers; missing ones count from 0. */
private fun JsonValue?.adding(amounts: JsonValue): JsonValue? {
    val each = (amounts as? JsonValue.Object ?: throw Misfit("add is an object")).members.entries
    return each.fold(this) { value, (pointer, amount) ->
        value.changing(pointer) { old ->
            val sum = old?.decimal()?.add(amount.decimal())?.checked() ?: amount.decimal()
            JsonValue.Number(sum.toPlainString())
        }
    }
}
