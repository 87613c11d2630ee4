// The shortest way from one list to another, if pending edits are shown and no answer gives it.

package diffserver

/** What else to redraw, by the keys of lines. */
internal typealias Redraws = Map<String, Redraw>

/** The change from this list to another one, in a dialect. O(n log n). */
internal fun <T> RowList<T>.change(next: RowList<T>, dialect: Dialect, redraws: Redraws): Change = when (dialect) {
    Dialect.KEYED -> Change.Keyed(JsonValue.Array(keyed(next, redraws)))
    Dialect.SEQUENTIAL -> Change.Sequential(splices(next, redraws))
}

internal val Change.isEmpty
    get() = this is Change.Keyed && operations.array!!.isEmpty() || this is Change.Sequential && splices.isEmpty()

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

private fun redraw(old: Row<*>, new: Row<*>, asked: Redraw?): Redraw? = when {
    old.kind != new.kind -> Redraw.RELOAD
    else -> asked ?: Redraw.RECONFIGURE.takeUnless { old === new || old == new }
}

// MARK: keyed

private class Place<out T>(val row: Row<T>, val section: String, val index: Int)

/**
 * Sections are inserted and moved, then rows, so that a row can leave a section to be deleted; then sections are
 * deleted, and other changes are updates. From the end, so that whatever `before` names is in its place by then.
 */
private fun <T> RowList<T>.keyed(next: RowList<T>, redraws: Redraws): List<JsonValue> {
    val operations = ArrayList<JsonValue>()
    fun add(vararg members: Pair<String, Any?>) = operations.add(JsonValue.objectOf(*members))
    fun <Element> List<Element>.eachMoved(from: List<Int?>, act: (Element, Element?, isNew: Boolean) -> Unit) {
        val stays = longestRun(from)
        for (at in indices.reversed()) if (at !in stays) act(this[at], getOrNull(at + 1), from[at] == null)
    }

    val indexes = sections.withIndex().associate { it.value.id to it.index }
    next.sections.eachMoved(next.sections.map { indexes[it.id] }) { section, before, isNew ->
        if (isNew) add("op" to "insert", "section" to section.written(), "before" to before?.id)
        else add("op" to "move", "section" to section.id, "before" to before?.id)
    }

    val places = HashMap<String, Place<T>>()
    for (section in sections) section.rows.forEachIndexed { at, row -> places[row.id] = Place(row, section.id, at) }
    val (homes, remain) = next.sections.map { it.id }.toSet() to next.rows.map { it.id }.toSet()
    // The remaining rows of a deleted section go with it.
    val gone = sections.filter { it.id in homes }.flatMap { it.rows }.map { it.id }.filter { it !in remain }
    if (gone.isNotEmpty()) add("op" to "remove", "items" to gone)
    for (section in next.sections.reversed()) {
        val from = section.rows.map { row -> places[row.id] }
        val isHere = from.map { it?.takeIf { place -> place.section == section.id }?.index }
        section.rows.eachMoved(isHere) { row, before, _ ->
            if (row.id in places) add("op" to "move", "item" to row.id, "in" to section.id, "before" to before?.id)
            else add("op" to "insert", "items" to listOf(row.written()), "in" to section.id, "before" to before?.id)
        }
    }
    for (section in sections) if (section.id !in homes) add("op" to "remove", "section" to section.id)

    for (section in next.sections) {
        val old = sections[indexes[section.id] ?: continue]
        val isSame = old.content == section.content && old.isExpanded == section.isExpanded
        val redraw = redraws["section ${section.id}"] ?: Redraw.RECONFIGURE.takeUnless { isSame } ?: continue
        add("op" to "update", "section" to section.written(), "as" to redraw.word)
    }
    val updates = next.rows.mapNotNull { row ->
        places[row.id]?.let { redraw(it.row, row, redraws["item ${row.id}"]) }?.let { it to row.written() }
    }
    for ((redraw, rows) in updates.groupBy({ it.first }, { it.second })) {
        add("op" to "update", "items" to rows, "as" to redraw.word)
    }
    return operations
}

private val Redraw.word get() = if (this == Redraw.RELOAD) "reload" else "reconfigure"

private fun Row<*>.written() = objectOfPresent(
    "id" to id, "content" to json, "kind" to kind, "level" to level.takeIf { it > 0 }, "parent" to parent,
    "expanded" to isExpanded.takeUnless { it }, "children" to children.takeIf { it > 0 })

/** The section without its rows. */
private fun Section<*>.written() =
    objectOfPresent("id" to id, "content" to content, "expanded" to isExpanded.takeUnless { it })

// MARK: sequential

/**
 * Removals from the end, then insertions and moves towards the end, then updates.
 *
 * Both lists share one line of slots: the entries that stay, and between them the places that the others leave or take.
 * A sum over the occupied slots (Fenwick 1994) is an entry's index at the moment it is used.
 */
private fun <T> RowList<T>.splices(next: RowList<T>, redraws: Redraws): List<Splice> {
    val (old, new) = lines() to next.lines()
    val origins = old.withIndex().associate { it.value.key to it.index }
    val from = new.map { origins[it.key] }
    val stays = longestRun(from)
    val slots = Slots(old.size, from, stays)
    val splices = ArrayList<Splice>()

    // Adjacent removals are one.
    val remain = from.filterNotNull().toSet()
    var end = old.size
    while (end > 0) {
        var begin = end
        while (begin > 0 && begin - 1 !in remain) begin -= 1
        for (at in begin until end) slots.leave(at)
        if (begin < end) splices.add(Splice.Removed(begin, end - begin))
        end = minOf(begin, end - 1)
    }
    var at = 0
    while (at < new.size) {
        val begin = at
        val origin = from[at]
        if (origin == null) {
            val index = slots.arrive(at++)
            while (at < new.size && from[at] == null) slots.arrive(at++)
            splices.add(Splice.Inserted(index, at - begin))
        } else if (at++ !in stays) {
            splices.add(Splice.Moved(slots.leave(origin), slots.arrive(begin)))
        }
    }
    for ((place, line) in new.withIndex()) {
        val before = old[from[place] ?: continue]
        val redraw = redraw(before, line, redraws[line.key], isMoved = place !in stays) ?: continue
        val last = splices.lastOrNull() as? Splice.Changed
        val isRun = last != null && last.at + last.count == place && last.redraw == redraw
        if (isRun) splices[splices.size - 1] = last!!.copy(count = last.count + 1)
        else splices.add(Splice.Changed(place, 1, redraw))
    }
    return splices
}

/** A row whose section has changed is redrawn, unless its move names the section. */
private fun redraw(old: Line<*>, new: Line<*>, asked: Redraw?, isMoved: Boolean): Redraw? {
    val isElsewhere = old.home != new.home && !isMoved
    val redraw = if (new.row != null) redraw(old.row!!, new.row, asked)
    else asked ?: Redraw.RECONFIGURE.takeUnless { old.header == new.header }
    return redraw ?: Redraw.RECONFIGURE.takeIf { isElsewhere }
}

/** The slots of two lists' entries: one for an entry that stays, two for one that moves. */
private class Slots(oldSize: Int, from: List<Int?>, stays: Set<Int>) {
    private val old = IntArray(oldSize)
    private val new = IntArray(from.size)
    private val taken: IntArray

    init {
        var (size, next) = 0 to 0
        for ((at, origin) in from.withIndex()) {
            if (at in stays) {
                while (next <= origin!!) old[next++] = size++
                new[at] = old[origin]
            } else {
                new[at] = size++
            }
        }
        while (next < oldSize) old[next++] = size++
        taken = IntArray(size + 1)
        old.forEach { add(it, 1) }
    }

    /** Takes an old entry out; its index until then. */
    fun leave(at: Int): Int = before(old[at]).also { add(old[at], -1) }

    /** Puts a new entry in; its index from then on. */
    fun arrive(at: Int): Int = before(new[at]).also { add(new[at], 1) }

    private fun add(slot: Int, number: Int) {
        var at = slot + 1
        while (at < taken.size) {
            taken[at] += number
            at += at and -at
        }
    }

    private fun before(slot: Int): Int {
        var (at, sum) = slot to 0
        while (at > 0) {
            sum += taken[at]
            at -= at and -at
        }
        return sum
    }
}

// MARK: Marks

/** What an update redraws besides its news: as it says, if nothing else changed or a new cell is needed. */
internal fun ListUpdate<*>.redraws(): Redraws {
    val marks = HashMap<String, Redraw>()
    for (operation in (change as? Change.Keyed)?.operations?.array.orEmpty()) {
        if (operation["op"]?.string != "update") continue
        val redraw = operation.required("as").redraw()
        operation["section"]?.let { marks["section ${it.required("id").id()}"] = redraw }
        for (item in operation["items"]?.array.orEmpty()) marks["item ${item.required("id").id()}"] = redraw
    }
    val updates = (change as? Change.Sequential)?.splices.orEmpty().filterIsInstance<Splice.Changed>()
    val lines = if (updates.isEmpty()) emptyList() else followed.list.lines()
    for ((at, count, redraw) in updates) for (line in lines.subList(at, at + count)) marks[line.key] = redraw
    if (marks.isEmpty()) return marks
    val (old, new) = before.parts() to followed.list.parts()
    return marks.filter { (key, redraw) -> redraw == Redraw.RELOAD || old[key] == new[key] }
}

private fun RowList<*>.parts(): Map<String, Any> = sections.flatMap { section ->
    section.rows.map { "item ${it.id}" to it } + ("section ${section.id}" to section.copy(rows = emptyList()))
}.toMap()
