// The shortest way from one list to another, if pending edits are shown and no answer gives it: sections are inserted
// and moved, then rows, so that a row can leave a section to be deleted; then sections are deleted, and other changes
// are updates.

package diffserver

/** What else to redraw, by the keys of entries. */
internal typealias Redraws = Map<String, Redraw>

/** The change from this list to another one, in a dialect. O(n log n). */
internal fun RowList.change(next: RowList, dialect: Dialect, redraws: Redraws): Change {
    val stages = stages(next, redraws)
    return if (dialect == Dialect.STAGED) Change.Staged(stages)
    else Change.Keyed(JsonValue.Array(stages.flatMap { it.keyed() }))
}

internal val Change.isEmpty
    get() = this is Change.Staged && stages.isEmpty() || this is Change.Keyed && operations.array!!.isEmpty()

/** The stages from this list to another one, with as few moves as possible. */
internal fun RowList.stages(next: RowList, redraws: Redraws): List<Stage> {
    val stages = ArrayList<Stage>()
    var list = if (content == next.content) this else copy(content = next.content)
    fun add(name: String, sections: Batch<Int>, rows: Batch<RowPath>, sectionsAfter: List<Section>) {
        if (sections.isEmpty && rows.isEmpty) return
        val after = list.copy(sections = sectionsAfter)
        stages.add(Stage(name, sections, rows, list, after))
        list = after
    }

    val (comings, arranged) = arrangedSections(next)
    add("sections", comings, batch(), arranged)
    val (rows, filled) = list.filled(next)
    add("items", batch(), rows, filled)
    val remain = next.sections.map { it.id }.toSet()
    val gone = list.sections.indices.filter { list.sections[it].id !in remain }
    add("deletes", batch(deleted = gone), batch(), list.sections.filter { it.id in remain })
    add("updates", batch(updated = list.updates(next, redraws)), batch(updated = list.rowUpdates(next, redraws)),
        next.sections)
    return stages
}

private fun <Index> batch(
    deleted: List<Index> = emptyList(), inserted: List<Index> = emptyList(), moved: List<Moved<Index>> = emptyList(),
    updated: List<Updated<Index>> = emptyList()
) = Batch(deleted, inserted, moved, updated, emptyList(), emptyList())

private val Batch<*>.isEmpty get() = deleted.isEmpty() && targets.isEmpty() && updated.isEmpty()

/** Sections in the order of another list, new ones empty. Those that it lacks stay after their predecessors. */
private fun RowList.arrangedSections(next: RowList): Pair<Batch<Int>, List<Section>> {
    val origins = sections.withIndex().associate { it.value.id to it.index }
    val remain = next.sections.map { it.id }.toSet()
    val places = next.sections.map { origins[it.id] }
    val stays = longestRun(places)
    val (inserted, moved) = ArrayList<Int>() to ArrayList<Moved<Int>>()
    val order = ArrayList<Section>()
    var left = 0
    fun addGone(end: Int) {
        while (left < end) sections[left++].let { if (it.id !in remain) order.add(it) }
    }
    for ((at, section) in next.sections.withIndex()) {
        val from = places[at]
        if (at in stays) {
            addGone(from!!)
            left = from + 1
        } else if (from == null) inserted.add(order.size) else moved.add(Moved(from, order.size))
        order.add(if (from == null) section.copy(rows = emptyList()) else sections[from])
    }
    addGone(sections.size)
    return batch(inserted = inserted, moved = moved) to order
}

/** Rows placed as in another list, but with their old contents. */
private fun RowList.filled(next: RowList): Pair<Batch<RowPath>, List<Section>> {
    val origins = HashMap<String, RowPath>()
    sections.forEachIndexed { at, section ->
        section.rows.forEachIndexed { place, row -> origins[row.id] = RowPath(at, place) }
    }
    val remain = next.sections.flatMap { section -> section.rows.map { it.id } }.toSet()
    val targets = next.sections.associateBy { it.id }
    val (deleted, inserted) = ArrayList<RowPath>() to ArrayList<RowPath>()
    val moved = ArrayList<Moved<RowPath>>()
    val filled = sections.mapIndexed { at, section ->
        val target = targets[section.id]
        // The remaining rows of a deleted section go with it.
        if (target == null) return@mapIndexed section.copy(rows = section.rows.filter { it.id !in remain })
        if (target.rows === section.rows) return@mapIndexed section
        section.rows.forEachIndexed { place, row -> if (row.id !in remain) deleted.add(RowPath(at, place)) }
        val stays = longestRun(target.rows.map { row -> origins[row.id]?.takeIf { it.section == at }?.row })
        section.copy(rows = target.rows.mapIndexed { place, row ->
            val (from, to) = origins[row.id] to RowPath(at, place)
            if (from == null) inserted.add(to) else if (place !in stays) moved.add(Moved(from, to))
            if (from == null) row else sections[from.section].rows[from.row]
        })
    }
    return batch(deleted, inserted, moved) to filled
}

private fun RowList.updates(next: RowList, redraws: Redraws): List<Updated<Int>> = next.sections.indices.mapNotNull {
    val (old, new) = sections[it] to next.sections[it]
    val isSame = old.content == new.content && old.isExpanded == new.isExpanded
    val redraw = redraws["section ${new.id}"] ?: Redraw.RECONFIGURE.takeUnless { isSame }
    redraw?.let { how -> Updated(it, how) }
}

private fun RowList.rowUpdates(next: RowList, redraws: Redraws) = next.sections.indices.flatMap { at ->
    sections[at].rows.zip(next.sections[at].rows).mapIndexedNotNull { place, (old, new) ->
        val redraw = when {
            old.kind != new.kind -> Redraw.RELOAD
            else -> redraws["item ${new.id}"] ?: Redraw.RECONFIGURE.takeUnless { old === new || old == new }
        }
        redraw?.let { Updated(RowPath(at, place), it) }
    }
}

/** The places of a longest increasing run among numbers and holes (Fredman 1975). O(n log n). */
private fun longestRun(numbers: List<Int?>): Set<Int> {
    // The smallest end of a run of each length, and each one's predecessor.
    val ends = ArrayList<Int>()
    val previous = IntArray(numbers.size) { -1 }
    for ((at, number) in numbers.withIndex()) {
        if (number == null) continue
        val found = ends.binarySearch { numbers[it]!!.compareTo(number) }
        val length = if (found < 0) -found - 1 else found
        if (length > 0) previous[at] = ends[length - 1]
        if (length < ends.size) ends[length] = at else ends.add(at)
    }
    return generateSequence(ends.lastOrNull()) { previous[it].takeIf { at -> at >= 0 } }.toSet()
}

// MARK: Operations

/** A stage as operations of `keyed`; from the end, so that whatever `before` names is in its place by then. */
private fun Stage.keyed(): List<JsonValue> {
    val operations = ArrayList<JsonValue>()
    fun add(vararg members: Pair<String, Any?>) = operations.add(JsonValue.objectOf(*members))
    val (newSections, newRows) = sections.inserted.toSet() to rows.inserted.toSet()
    for (at in sections.targets.sortedDescending()) {
        val (section, before) = list.sections[at] to list.sections.getOrNull(at + 1)?.id
        if (at in newSections) add("op" to "insert", "section" to section.json(), "before" to before)
        else add("op" to "move", "section" to section.id, "before" to before)
    }
    val gone = rows.deleted.map { before.sections[it.section].rows[it.row].id }
    if (gone.isNotEmpty()) add("op" to "remove", "items" to gone)
    for (to in rows.targets.sortedWith(compareBy({ -it.section }, { -it.row }))) {
        val (home, rows) = list.sections[to.section].let { it.id to it.rows }
        val (row, before) = rows[to.row] to rows.getOrNull(to.row + 1)?.id
        if (to in newRows) add("op" to "insert", "items" to listOf(row.json()), "in" to home, "before" to before)
        else add("op" to "move", "item" to row.id, "in" to home, "before" to before)
    }
    for (at in sections.deleted) add("op" to "remove", "section" to before.sections[at].id)
    for ((at, redraw) in sections.updated) {
        add("op" to "update", "section" to list.sections[at].json(), "as" to redraw.word)
    }
    for ((redraw, updates) in rows.updated.groupBy { it.redraw }) {
        val items = updates.map { list.sections[it.at.section].rows[it.at.row].json() }
        add("op" to "update", "items" to items, "as" to redraw.word)
    }
    return operations
}

private val Redraw.word get() = if (this == Redraw.RELOAD) "reload" else "reconfigure"

private fun Row.json() = json(
    "id" to id, "content" to content, "kind" to kind, "level" to level.takeIf { it > 0 }, "parent" to parent,
    "expanded" to isExpanded.takeUnless { it }, "children" to children.takeIf { it > 0 })

/** The section without its rows. */
private fun Section.json() = json("id" to id, "content" to content, "expanded" to isExpanded.takeUnless { it })

private fun json(vararg members: Pair<String, Any?>) =
    JsonValue.objectOf(*members.filter { it.second != null }.toTypedArray())

// MARK: Marks

/** What an update redraws besides its news: as it says, if nothing else changed or a new cell is needed. */
internal fun ListUpdate.redraws(): Redraws {
    val marks = HashMap<String, Redraw>()
    for (operation in (change as? Change.Keyed)?.operations?.array.orEmpty()) {
        if (operation["op"]?.string != "update") continue
        val redraw = operation.required("as").redraw()
        operation["section"]?.let { marks["section ${it.required("id").id()}"] = redraw }
        for (item in operation["items"]?.array.orEmpty()) marks["item ${item.required("id").id()}"] = redraw
    }
    for (stage in (change as? Change.Staged)?.stages.orEmpty()) {
        for ((at, redraw) in stage.sections.updated) marks["section ${stage.list.sections[at].id}"] = redraw
        for ((at, redraw) in stage.rows.updated) {
            marks["item ${stage.list.sections[at.section].rows[at.row].id}"] = redraw
        }
    }
    if (marks.isEmpty()) return marks
    val (old, new) = before.parts() to followed.list.parts()
    return marks.filter { (key, redraw) -> redraw == Redraw.RELOAD || old[key] == new[key] }
}

private fun RowList.parts(): Map<String, Any> = sections.flatMap { section ->
    section.rows.map { "item ${it.id}" to it } + ("section ${section.id}" to section.copy(rows = emptyList()))
}.toMap()
