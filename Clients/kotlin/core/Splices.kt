// One flat list for RecyclerView, and each stage as the notifications that it takes. They are carried out one after the
// other, each on the indexes left by the previous ones; a stage's indexes are those before it and those after it.
//
// Both are brought together on one line of slots: entries that stay, and between them the place that each other entry
// comes from or goes to. A sum over the occupied slots (Fenwick 1994) is an entry's index at its moment. O(n log n).

package diffserver

/** A place in a flat list: a section's header, or a row. Sections without content have no header. */
sealed class Entry {
    abstract val section: Section

    data class Header(override val section: Section) : Entry()
    data class Item(val row: Row, override val section: Section) : Entry()

    internal val key get() = if (this is Item) "item ${row.id}" else "section ${section.id}"

    /** What is drawn, as an object that stays the same while that does. */
    internal fun shows(same: Entry): Boolean = when (this) {
        is Item -> same is Item && (row === same.row || row == same.row)
        is Header -> same is Header && section.copy(rows = emptyList()) == same.section.copy(rows = emptyList())
    }

    internal val kind get() = (this as? Item)?.row?.kind
}

/** The headers and rows of a list, in order. */
fun RowList.entries(): List<Entry> = sections.flatMap { section ->
    val header = if (section.content == null) emptyList() else listOf(Entry.Header(section))
    header + section.rows.map { Entry.Item(it, section) }
}

/** A notification, on the indexes left by the previous ones. */
sealed class Splice {
    data class Removed(val at: Int, val count: Int) : Splice()
    data class Inserted(val at: Int, val count: Int) : Splice()
    data class Moved(val from: Int, val to: Int) : Splice()
    data class Changed(val at: Int, val count: Int, val redraw: Redraw) : Splice()
}

/** The notifications that turn the entries before this stage into those after it. */
fun Stage.splices(): List<Splice> {
    val moved = HashSet<String>()
    for (move in rows.moved) moved.add("item ${before.sections[move.from.section].rows[move.from.row].id}")
    for (move in sections.moved) {
        val section = before.sections[move.from]
        moved.add("section ${section.id}")
        for (row in section.rows) moved.add("item ${row.id}")
    }
    val redraws = HashMap<String, Redraw>()
    for ((at, redraw) in rows.updated) redraws["item ${list.sections[at.section].rows[at.row].id}"] = redraw
    for ((at, redraw) in sections.updated) redraws["section ${list.sections[at].id}"] = redraw
    return splices(before.entries(), list.entries(), moved, redraws)
}

/** From `old` to `new`. Entries that are not in `moved` but in another order are moved all the same. */
internal fun splices(
    old: List<Entry>, new: List<Entry>, moved: Set<String>, redraws: Map<String, Redraw>
): List<Splice> {
    val oldKeys = old.map { it.key }
    val newKeys = new.map { it.key }
    val origins = HashMap<String, Int>(oldKeys.size * 2)
    oldKeys.forEachIndexed { at, key -> origins[key] = at }
    val arrangement = arrange(oldKeys, newKeys, origins, moved)
    val splices = ArrayList<Splice>()
    val taken = Sums(arrangement.size)
    arrangement.oldSlots.forEach { taken.add(it, 1) }

    // From the end, so that runs of neighbours become one.
    val newSet = newKeys.toHashSet()
    var end = old.size
    while (end > 0) {
        var begin = end
        while (begin > 0 && oldKeys[begin - 1] !in newSet) begin -= 1
        for (at in begin until end) taken.add(arrangement.oldSlots[at], -1)
        if (begin < end) splices.add(Splice.Removed(begin, end - begin))
        end = minOf(begin, end - 1)
    }
    var at = 0
    while (at < new.size) {
        val origin = origins[newKeys[at]]
        val slot = arrangement.newSlots[at]
        if (origin == null) {
            val begin = at
            val place = taken.before(slot)
            while (at < new.size && newKeys[at] !in origins) taken.add(arrangement.newSlots[at++], 1)
            splices.add(Splice.Inserted(place, at - begin))
            continue
        }
        if (arrangement.oldSlots[origin] != slot) {
            val from = taken.before(arrangement.oldSlots[origin])
            taken.add(arrangement.oldSlots[origin], -1)
            val to = taken.before(slot)
            taken.add(slot, 1)
            if (from != to) splices.add(Splice.Moved(from, to))
        }
        at += 1
    }
    addChanges(old, new, origins, redraws, splices)
    return splices
}

private class Arrangement(val oldSlots: IntArray, val newSlots: IntArray, val size: Int)

/** Gives entries that stay one slot, and those that move two. */
private fun arrange(old: List<String>, new: List<String>, origins: Map<String, Int>, moved: Set<String>): Arrangement {
    val (oldSlots, newSlots) = IntArray(old.size) to IntArray(new.size)
    var (size, next) = 0 to 0
    for ((at, key) in new.withIndex()) {
        val origin = origins[key]
        if (origin != null && origin >= next && key !in moved) {
            while (next <= origin) oldSlots[next++] = size++
            newSlots[at] = oldSlots[origin]
        } else {
            newSlots[at] = size++
        }
    }
    while (next < old.size) oldSlots[next++] = size++
    return Arrangement(oldSlots, newSlots, size)
}

private fun addChanges(
    old: List<Entry>, new: List<Entry>, origins: Map<String, Int>, redraws: Map<String, Redraw>,
    splices: MutableList<Splice>
) {
    for ((at, entry) in new.withIndex()) {
        val before = old[origins[entry.key] ?: continue]
        val redraw = redraws[entry.key] ?: when {
            entry.shows(before) -> null
            entry.kind == before.kind -> Redraw.RECONFIGURE
            else -> Redraw.RELOAD
        } ?: continue
        val last = splices.lastOrNull() as? Splice.Changed
        if (last != null && last.at + last.count == at && last.redraw == redraw) {
            splices[splices.size - 1] = last.copy(count = last.count + 1)
        } else {
            splices.add(Splice.Changed(at, 1, redraw))
        }
    }
}

/** Numbers by slot, and their sums. */
private class Sums(size: Int) {
    private val sums = IntArray(size + 1)

    fun add(slot: Int, number: Int) {
        var at = slot + 1
        while (at < sums.size) {
            sums[at] += number
            at += at and -at
        }
    }

    /** The sum of the slots before this one. */
    fun before(slot: Int): Int {
        var (at, sum) = slot to 0
        while (at > 0) {
            sum += sums[at]
            at -= at and -at
        }
        return sum
    }
}
