// The dialect `staged`: batches on indexes. Deleted and moved entries are taken out by their index before the batch,
// inserted and moved ones are put in by their index after it, and all others keep their order and fill the gaps.

package diffserver

/** An index path. */
data class RowPath(val section: Int, val row: Int)

/** One move in a batch: from before it to after it. */
data class Moved<Index>(val from: Index, val to: Index)

/** One update in a batch, whose indexes are the same before and after. */
data class Updated<Index>(val at: Index, val redraw: Redraw)

/** Operations on sections (by `Int`) or on rows (by `RowPath`), all at once. */
class Batch<Index> internal constructor(
    /** Before the batch. */
    val deleted: List<Index>,
    /** After the batch. */
    val inserted: List<Index>,
    val moved: List<Moved<Index>>,
    val updated: List<Updated<Index>>,
    internal val arrivals: List<JsonValue>,
    internal val updates: List<JsonValue>
) {
    internal val sources get() = deleted + moved.map { it.from }
    internal val targets get() = inserted + moved.map { it.to }

    internal fun requireNoneTwice() {
        for (places in listOf(sources, targets, deleted + updated.map { it.at }, inserted + updated.map { it.at })) {
            if (places.toSet().size < places.size) throw Misfit("two operations name one place")
        }
    }
}

/** One stage of a `staged` changeset. */
class Stage internal constructor(
    /** `updates`, `deletes`, `sections`, `items` or `headers`. */
    val name: String,
    val sections: Batch<Int>,
    val rows: Batch<RowPath>,
    /** The list before it. */
    val before: RowList,
    /** The list after it. */
    val list: RowList
)

/**
 * The stages of the `changes` of a `staged` changeset.
 *
 * @throws Misfit if any stage does not fit. Then none of them may be carried out.
 */
fun RowList.stages(changes: JsonValue): List<Stage> {
    val stages = ArrayList<Stage>()
    for (value in changes.asArray()) stages.add((stages.lastOrNull()?.list ?: this).stage(value))
    return stages
}

private fun RowList.stage(value: JsonValue): Stage {
    val members = value.members("name", "counts", "sections", "items")
    val sections = batch(members["sections"], "section") { it.integer() }
    val rows = batch(members["items"], "item") { path ->
        if (path.asArray().size != 2) throw Misfit("a path must be [section,row]")
        RowPath(path.asArray()[0].integer(), path.asArray()[1].integer())
    }
    val list = applying(sections, rows)
    if (members.required("counts").asArray().map { it.integer() } != list.sections.map { it.rows.size }) {
        throw Misfit("the stage's row counts do not match the sections")
    }
    return Stage(members.required("name").string ?: throw Misfit("a stage has a name"), sections, rows, this, list)
}

private fun <Index> batch(value: JsonValue?, element: String, index: (JsonValue) -> Index): Batch<Index> {
    val lists = value?.members("deleted", "inserted", "moved", "updated").orEmpty()
    fun list(name: String) = lists[name]?.asArray().orEmpty()
    val inserted = list("inserted").map { it.members("at", element) }
    val updated = list("updated").map { it.members("at", element, "as") }
    return Batch(
        list("deleted").map(index),
        inserted.map { index(it.required("at")) },
        list("moved").map { it.members("from", "to") }
            .map { Moved(index(it.required("from")), index(it.required("to"))) },
        updated.map { Updated(index(it.required("at")), it.required("as").redraw()) },
        inserted.map { it.required(element) },
        updated.map { it.required(element) }
    ).also { it.requireNoneTwice() }
}

/** Sections come with their rows, and take them along. */
private fun RowList.applying(batch: Batch<Int>, rowBatch: Batch<RowPath>): RowList {
    requireApart(batch, rowBatch)
    val left = sections.toMutableList()
    for ((section, paths) in rowBatch.sources.groupBy { it.section }) {
        val gone = paths.map { it.row }.toSet()
        val rows = section(section).rows
        if (gone.any { it !in rows.indices }) throw Misfit("there is no such row in section $section before")
        left[section] = left[section].copy(rows = rows.filterIndexed { at, _ -> at !in gone })
    }

    val sectionArrivals = HashMap<Int, Section>()
    batch.inserted.zip(batch.arrivals) { at, value -> sectionArrivals[at] = value.toSection(isNew = true) }
    for (move in batch.moved) sectionArrivals[move.to] = section(move.from).let { left[move.from] }
    for (at in batch.deleted) section(at)
    val leaving = batch.sources.toSet()
    val next = merged(left.filterIndexed { at, _ -> at !in leaving }, sectionArrivals)

    val rowArrivals = HashMap<RowPath, Row>()
    rowBatch.inserted.zip(rowBatch.arrivals) { at, value -> rowArrivals[at] = value.toRow() }
    for (move in rowBatch.moved) rowArrivals[move.to] = sections[move.from.section].rows[move.from.row]
    for ((section, paths) in rowArrivals.keys.groupBy { it.section }) {
        val old = next.getOrNull(section) ?: throw Misfit("there is no section $section after")
        next[section] = old.copy(rows = merged(old.rows, paths.associate { it.row to rowArrivals.getValue(it) }))
    }

    for ((section, places) in rowBatch.updated.withIndex().groupBy { it.value.at.section }) {
        val rows = (next.getOrNull(section) ?: throw Misfit("there is no section $section")).rows.toMutableList()
        for ((number, update) in places) {
            val old = rows.getOrNull(update.at.row) ?: throw Misfit("there is no row ${update.at} to update")
            rows[update.at.row] = rowBatch.updates[number].toRow(old)
        }
        next[section] = next[section].copy(rows = rows)
    }
    batch.updated.zip(batch.updates) { update, value ->
        val old = next.getOrNull(update.at) ?: throw Misfit("there is no section ${update.at}")
        next[update.at] = value.toSection(isNew = false, old = old)
    }
    return RowList(next, content).also { it.requireUniqueIDs() }
}

/** Refuses combinations that a list view draws wrongly, or crashes on. */
private fun requireApart(batch: Batch<Int>, rowBatch: Batch<RowPath>) {
    val rearranges = batch.sources.isNotEmpty() || batch.targets.isNotEmpty() ||
        rowBatch.sources.isNotEmpty() || rowBatch.targets.isNotEmpty()
    val updates = batch.updated.isNotEmpty() || rowBatch.updated.isNotEmpty()
    if (updates && rearranges) throw Misfit("updates among other operations")
    val (leaving, arriving) = batch.sources.toSet() to batch.targets.toSet()
    val isInside = rowBatch.sources.any { it.section in leaving } || rowBatch.targets.any { it.section in arriving }
    if (isInside) throw Misfit("a row operation in a section that comes, goes or moves")
}

private fun RowList.section(at: Int) = sections.getOrNull(at) ?: throw Misfit("there is no section $at before")

/** Puts arrivals at their places, and everything else into the gaps, in order. */
private fun <Element> merged(staying: List<Element>, arrivals: Map<Int, Element>): MutableList<Element> {
    val count = staying.size + arrivals.size
    if (arrivals.keys.any { it !in 0 until count }) throw Misfit("there is no such place after")
    val rest = staying.iterator()
    return MutableList(count) { arrivals[it] ?: rest.next() }
}
