// The dialect `sequential`: splices of one flat list of headers and rows, applied in order, each with the indexes that
// the previous ones left. RecyclerView is told each of them as it is.

package diffserver

/** A place in a flat list: a section's header, or a row. Sections without content have no header. */
sealed class Entry<out T> {
    abstract val section: Section<T>

    data class Header<out T>(override val section: Section<T>) : Entry<T>()
    data class Item<out T>(val row: Row<T>, override val section: Section<T>) : Entry<T>()
}

/** The headers and rows of a list, in order. */
fun <T> RowList<T>.entries(): List<Entry<T>> = sections.flatMap { section ->
    val header = if (section.content == null) emptyList() else listOf(Entry.Header(section))
    header + section.rows.map { Entry.Item(it, section) }
}

/** A splice of a flat list, with the indexes that the previous ones left. */
sealed class Splice {
    data class Removed(val at: Int, val count: Int) : Splice()
    data class Inserted(val at: Int, val count: Int) : Splice()
    data class Moved(val from: Int, val to: Int) : Splice()
    data class Changed(val at: Int, val count: Int, val redraw: Redraw) : Splice()
}

/**
 * This list after the `changes` of a `sequential` changeset, and its splices. O(entries) for each of these.
 *
 * @throws Misfit if an index is out of bounds or anything is not such a splice. Then apply none of them.
 */
fun <T> RowList<T>.applyingSequential(changes: JsonValue, decoder: Decoder<T>): Pair<RowList<T>, Change.Sequential> {
    val lines = Lines(this, decoder)
    val splices = changes.asArray().map { lines.apply(it) }
    return (if (splices.isEmpty()) this else lines.list(this)) to Change.Sequential(splices)
}

/** As in `sequential`: without empty sections that have no content. */
internal fun <T> RowList<T>.withoutUnseen(): RowList<T> =
    if (sections.all { it.isSeen }) this else copy(sections = sections.filter { it.isSeen })

private val Section<*>.isSeen get() = content != null || rows.isNotEmpty()

/** A header without its rows, or a row, with the id of its section. */
internal class Line<out T>(val home: String, val header: Section<T>?, val row: Row<T>?) {
    val key get() = if (row != null) "item ${row.id}" else "section $home"
}

internal fun <T> RowList<T>.lines(): List<Line<T>> = sections.flatMap { section ->
    val header = if (section.content == null) null else section.copy(rows = emptyList())
    listOfNotNull(header).map { Line(section.id, it, null) } + section.rows.map { Line(section.id, null, it) }
}

private class Lines<T>(list: RowList<T>, private val decoder: Decoder<T>) {
    private val lines = list.lines().toMutableList()

    fun apply(splice: JsonValue): Splice = when (val op = splice.required("op").string) {
        "remove" -> {
            splice.members("op", "at", "count")
            val (at, count) = splice.required("at").integer() to splice.required("count").integer()
            range(at, count).clear()
            Splice.Removed(at, count)
        }
        "insert" -> {
            splice.members("op", "at", "rows")
            val (at, new) = splice.required("at").integer() to splice.required("rows").asArray().map { line(it, null) }
            if (at !in 0..lines.size) throw Misfit("there is no place $at")
            lines.addAll(at, new)
            Splice.Inserted(at, new.size)
        }
        "move" -> {
            splice.members("op", "from", "to", "in")
            val (from, to) = splice.required("from").integer() to splice.required("to").integer()
            range(to, 1)
            val line = range(from, 1)[0]
            val home = splice["in"]?.id() ?: line.home
            if (line.row == null && home != line.home) throw Misfit("a header in another section")
            lines.removeAt(from)
            lines.add(to, Line(home, line.header, line.row))
            Splice.Moved(from, to)
        }
        "update" -> {
            splice.members("op", "at", "rows", "as")
            val (at, new) = splice.required("at").integer() to splice.required("rows").asArray()
            val range = range(at, new.size)
            for ((place, value) in new.withIndex()) range[place] = line(value, range[place])
            Splice.Changed(at, new.size, splice.required("as").redraw())
        }
        else -> throw Misfit("no operation of sequential: $op")
    }

    private fun range(at: Int, count: Int): MutableList<Line<T>> {
        if (count < 1 || at < 0 || at > lines.size - count) throw Misfit("there are no $count entries at $at")
        return lines.subList(at, at + count)
    }

    private fun line(value: JsonValue, old: Line<T>?): Line<T> {
        if (old != null && (value["section"] == null) != (old.row != null)) throw Misfit("no such entry here: $value")
        val header = value["section"] ?: return value.members("item", "in").let {
            Line(it.required("in").id(), null, it.required("item").toRow(decoder, old?.row))
        }
        value.members("section")
        val section = old?.header?.let { header.toSection(it) } ?: header.toSection(decoder)
        if (section.content == null || section.rows.isNotEmpty()) throw Misfit("no header: $value")
        return Line(section.id, section, null)
    }

    /** The lines in their sections; unchanged parts of the old list stay the same objects. */
    fun list(old: RowList<T>): RowList<T> {
        val known = old.sections.associateBy { it.id }
        val sections = ArrayList<Section<T>>()
        var begin = 0
        while (begin < lines.size) {
            val home = lines[begin].home
            var end = begin + 1
            while (end < lines.size && lines[end].home == home && lines[end].row != null) end += 1
            val header = lines[begin].header
            val rows = lines.subList(begin, end).mapNotNull { it.row }
            val section = Section(home, header?.content, header?.isExpanded ?: true, rows)
            sections.add(known[home]?.takeIf { it.rows.isSame(rows) && it == section } ?: section)
            begin = end
        }
        return RowList(sections, old.content).also { it.requireUniqueIDs() }
    }
}
