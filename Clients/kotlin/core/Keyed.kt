// The dialect `keyed`: operations on ids, one after the other. Rows are linked meanwhile, and found by id, so an
// operation costs the same wherever it falls; untouched sections stay the same objects.

package diffserver

/**
 * This list after the `changes` of a `keyed` changeset.
 *
 * @throws Misfit if an id or an anchor is missing or already there, or an operation is malformed.
 */
fun <T> RowList<T>.applyingKeyed(changes: JsonValue, decoder: Decoder<T>): RowList<T> {
    val operations = changes.asArray()
    if (operations.isEmpty()) return this
    val linked = LinkedRows(this, decoder)
    for (operation in operations) linked.apply(operation)
    return RowList(linked.sections(), content)
}

/** An element of a ring, or the ring's end: after the last element and before the first. */
private class Node<Value>(var value: Value) {
    var next = this
    var previous = this

    fun insert(node: Node<Value>) {
        node.next = this
        node.previous = previous
        previous.next = node
        previous = node
    }

    fun detach() {
        previous.next = next
        next.previous = previous
    }

    fun each(): List<Value> {
        val values = ArrayList<Value>()
        var node = next
        while (node !== this) {
            values.add(node.value)
            node = node.next
        }
        return values
    }
}

private class LinkedSection<T>(var section: Section<T>) {
    val rows = Node<LinkedRow<T>?>(null)
    var isChanged = false
}

private class LinkedRow<T>(var row: Row<T>, var home: LinkedSection<T>)

private class LinkedRows<T>(list: RowList<T>, private val decoder: Decoder<T>) {
    private val order = Node<LinkedSection<T>?>(null)
    private val sections = HashMap<String, Node<LinkedSection<T>?>>()
    private val rows = HashMap<String, Node<LinkedRow<T>?>>()

    init {
        for (section in list.sections) insert(section, order)
        for (each in order.each()) each?.isChanged = false
    }

    fun sections(): List<Section<T>> = order.each().filterNotNull().map { linked ->
        if (!linked.isChanged) linked.section
        else linked.section.copy(rows = linked.rows.each().filterNotNull().map { it.row })
    }

    fun apply(operation: JsonValue) {
        val verb = operation.required("op").string
        if (operation["section"] == null) applyToRows(verb, operation) else applyToSection(verb, operation)
    }

    private fun applyToSection(verb: String?, operation: JsonValue) {
        val value = operation.required("section")
        when (verb) {
            "insert" -> {
                operation.members("op", "section", "before")
                insert(value.toSection(decoder), sectionBefore(operation))
            }
            "move" -> {
                operation.members("op", "section", "before")
                val node = section(value.id())
                move(node, sectionBefore(operation))
            }
            "remove" -> {
                operation.members("op", "section")
                val node = section(value.id())
                for (row in node.linked.rows.each()) rows.remove(row?.row?.id)
                sections.remove(value.id())
                node.detach()
            }
            "update" -> {
                operation.members("op", "section", "as")
                operation.required("as").redraw()
                val linked = section(value.required("id").id()).linked
                linked.section = value.toSection(linked.section)
            }
            else -> throw Misfit("no operation of keyed: $verb")
        }
    }

    private fun applyToRows(verb: String?, operation: JsonValue) {
        when (verb) {
            "insert" -> {
                operation.members("op", "items", "in", "before")
                val home = section(operation.required("in").id()).linked
                val before = rowBefore(operation, home)
                for (value in operation.required("items").asArray()) insert(value.toRow(decoder), home, before)
            }
            "move" -> {
                operation.members("op", "item", "in", "before")
                val node = row(operation.required("item").id())
                val home = section(operation.required("in").id()).linked
                node.linked.home.isChanged = true
                move(node, rowBefore(operation, home))
                node.linked.home = home
                home.isChanged = true
            }
            "remove" -> {
                operation.members("op", "items")
                for (value in operation.required("items").asArray()) {
                    val node = row(value.id())
                    node.linked.home.isChanged = true
                    node.detach()
                    rows.remove(value.id())
                }
            }
            "update" -> {
                operation.members("op", "items", "as")
                operation.required("as").redraw()
                for (value in operation.required("items").asArray()) {
                    val linked = row(value.required("id").id()).linked
                    linked.row = value.toRow(decoder, linked.row)
                    linked.home.isChanged = true
                }
            }
            else -> throw Misfit("no operation of keyed: $verb")
        }
    }

    private fun insert(section: Section<T>, before: Node<LinkedSection<T>?>) {
        val linked = LinkedSection(section)
        val node = Node<LinkedSection<T>?>(linked)
        if (sections.put(section.id, node) != null) throw Misfit("the section \"${section.id}\" already exists")
        before.insert(node)
        for (row in section.rows) insert(row, linked, linked.rows)
    }

    private fun insert(row: Row<T>, home: LinkedSection<T>, before: Node<LinkedRow<T>?>) {
        val node = Node<LinkedRow<T>?>(LinkedRow(row, home))
        if (rows.put(row.id, node) != null) throw Misfit("the row \"${row.id}\" already exists")
        before.insert(node)
        home.isChanged = true
    }

    private fun <Value> move(node: Node<Value>, before: Node<Value>) {
        if (node === before) throw Misfit("an element cannot move before itself")
        node.detach()
        before.insert(node)
    }

    /** The sibling that `before` names; the end for null, which must be given. */
    private fun sectionBefore(operation: JsonValue): Node<LinkedSection<T>?> {
        val anchor = operation.required("before")
        return if (anchor === JsonValue.Null) order else section(anchor.id())
    }

    private fun rowBefore(operation: JsonValue, home: LinkedSection<T>): Node<LinkedRow<T>?> {
        val anchor = operation.required("before")
        if (anchor === JsonValue.Null) return home.rows
        val node = row(anchor.id())
        if (node.linked.home !== home) throw Misfit("the anchor $anchor stands elsewhere")
        return node
    }

    private fun section(id: String) = sections[id] ?: throw Misfit("there is no section \"$id\"")
    private fun row(id: String) = rows[id] ?: throw Misfit("there is no row \"$id\"")

    /** Only the ends of rings are empty, and no id leads to them. */
    private val <Value : Any> Node<Value?>.linked: Value get() = value!!
}
