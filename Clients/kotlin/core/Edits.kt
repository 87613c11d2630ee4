// Edits as an app writes them; docs/api/edits.md says what each does. They are JSON from the start, so what is shown at
// once is what is sent. Combinations that make no sense are left to the server to refuse.

package diffserver

import java.math.BigInteger
import java.util.UUID

/**
 * One edit: `Edit.move("a", before = "b")`, `Edit.add("a", "/likes", 1)`, `Edit.sections.collapse("s")`.
 *
 * An id is a string, an integer, a UUID, a row or a section. `before` and `after` also take a list, of which the first
 * that exists counts, and null: the end for `before`, the start for `after`. Contents are anything that [JsonValue.of]
 * takes.
 */
class Edit internal constructor(override val json: JsonValue) : HasJson {
    override fun toString() = json.toString()
    override fun equals(other: Any?) = other is Edit && json == other.json
    override fun hashCode() = json.hashCode()

    companion object : Edits("items") {
        /** Edits of sections. */
        val sections = SectionEdits

        /** An edit given as JSON. */
        fun of(json: JsonValue) = Edit(json)

        /** Inserts items, each a [NewItem], a [Row] or just an id. */
        fun insert(
            vararg items: Any, before: Any? = Absent, after: Any? = Absent, into: Any? = Absent, at: Edge? = null
        ) = edit("insert", items.map { it.newItem() }, place(before, after, into, at))

        /** Inserts elements of a document, a list or with `map` a map, which the list's shape reads. */
        fun insertElements(
            elements: Any, before: Any? = Absent, after: Any? = Absent, into: Any? = Absent, at: Edge? = null
        ) = of(JsonValue.of(mapOf("op" to "insert", "elements" to elements) + place(before, after, into, at)))

        fun move(
            vararg ids: Any, before: Any? = Absent, after: Any? = Absent, into: Any? = Absent, at: Edge? = null
        ) = edit("move", ids.ids(), place(before, after, into, at))

        /** Replaces what is given and keeps the rest. */
        fun update(id: Any, content: Any? = Absent, kind: String? = null, isExpanded: Boolean? = null) =
            updating(id, "content" to content, "kind" to kind.orAbsent(), "expanded" to isExpanded.orAbsent())

        /** Empties all sections. */
        fun clearAll() = of(JsonValue.objectOf("op" to "clear"))
    }
}

/** Edits of sections: `Edit.sections`. */
object SectionEdits : Edits("sections") {
    fun insert(vararg sections: NewSection, before: Any? = Absent, after: Any? = Absent, at: Edge? = null) =
        edit("insert", sections.toList(), place(before, after, Absent, at))

    fun move(vararg ids: Any, before: Any? = Absent, after: Any? = Absent, at: Edge? = null) =
        edit("move", ids.ids(), place(before, after, Absent, at))

    /** Replaces what is given and keeps the rest. */
    fun update(id: Any, content: Any? = Absent, isExpanded: Boolean? = null) =
        updating(id, "content" to content, "expanded" to isExpanded.orAbsent())
}

/** The edits that items and sections share. */
open class Edits internal constructor(private val operands: String) {
    /** Deletes them with their children; ids that are already gone are ignored. */
    fun delete(vararg ids: Any) = edit("delete", ids.ids())

    fun expand(vararg ids: Any) = edit("expand", ids.ids())
    fun collapse(vararg ids: Any) = edit("collapse", ids.ids())

    /** Has them redrawn in new cells though nothing changed. */
    fun reload(vararg ids: Any) = edit("reload", ids.ids())

    /** Has them redrawn in their cells though nothing changed. */
    fun reconfigure(vararg ids: Any) = edit("reconfigure", ids.ids())

    /** Deletes what is in them. */
    fun clear(vararg ids: Any) = edit("clear", ids.ids())

    /** Merges a patch (RFC 7396) into the content as it is by then. */
    fun patch(id: Any, patch: Any?) = updating(id, "patch" to patch)

    /** Adds to the number at a JSON Pointer into the content as it is by then. */
    fun add(id: Any, pointer: String, amount: Number) = add(id, mapOf(pointer to amount))

    /** Adds to the numbers at JSON Pointers into the content, after a patch of it. */
    fun add(id: Any, amounts: Map<String, Number>, patch: Any? = Absent) =
        updating(id, "patch" to patch, "add" to amounts)

    /** Puts a text behind the string at a JSON Pointer into the content as it is by then. */
    fun append(id: Any, pointer: String, text: String) = append(id, mapOf(pointer to text))

    /** Puts texts behind the strings at JSON Pointers into the content, after a patch of it. */
    fun append(id: Any, texts: Map<String, String>, patch: Any? = Absent) =
        updating(id, "patch" to patch, "append" to texts)

    internal fun updating(id: Any, vararg members: Pair<String, Any?>) =
        edit("update", listOf(present("id" to id.idJson(), *members)))

    internal fun edit(op: String, operands: List<Any>, place: Map<String, Any?> = emptyMap()) =
        Edit(JsonValue.of(mapOf("op" to op, this.operands to operands) + place))

    internal fun place(before: Any?, after: Any?, into: Any?, at: Edge?) = present(
        "before" to before.anchor(), "after" to after.anchor(), "into" to into.parent(),
        "at" to at?.word.orAbsent())
}

/** An end of a list. */
enum class Edge(internal val word: String) { START("start"), END("end") }

/** An item to insert, with its children, each a [NewItem], a [Row] or just an id. */
class NewItem(
    id: Any, content: Any? = Absent, kind: String? = null, isExpanded: Boolean = true, items: List<Any> = emptyList()
) : HasJson {
    override val json = JsonValue.of(present(
        "id" to id.idJson(), "content" to content, "kind" to kind.orAbsent(), "expanded" to isExpanded.orAbsent(true),
        "items" to items.map { it.newItem() }.orAbsent(emptyList<Any>())))
}

/** A section to insert, with its items, each a [NewItem], a [Row] or just an id. */
class NewSection(
    id: Any, content: Any? = Absent, isExpanded: Boolean = true, items: List<Any> = emptyList()
) : HasJson {
    override val json = JsonValue.of(present(
        "id" to id.idJson(), "content" to content, "expanded" to isExpanded.orAbsent(true),
        "items" to items.map { it.newItem() }.orAbsent(emptyList<Any>())))
}

/** Stands for a parameter that is not given, since null has a meaning. */
private object Absent

private fun Any?.orAbsent(default: Any? = null) = if (this == default) Absent else this

private fun present(vararg members: Pair<String, Any?>): Map<String, Any?> =
    members.toMap().filterValues { it !== Absent }

// MARK: Ids

/**
 * An id as JSON.
 *
 * @throws IllegalArgumentException if it is none.
 */
internal fun Any?.idJson(): JsonValue = when (this) {
    is Row<*> -> JsonValue.Text(id)
    is Section<*> -> JsonValue.Text(id)
    is JsonValue, is CharSequence, is UUID, is Byte, is Short, is Int, is Long, is BigInteger -> JsonValue.of(this)
    else -> throw IllegalArgumentException("no id: ${this?.javaClass}; ids are strings, integers and UUIDs")
}

internal fun Any.idText() = idJson().id()

internal fun List<Any>.ids() = map { it.idJson() }

/** The ids, lists of them included. */
private fun Array<out Any>.ids(): List<JsonValue> =
    flatMap { if (it is Iterable<*>) it.map { id -> id.idJson() } else listOf(it.idJson()) }

/** A row is inserted as it is, without its children. */
private fun Any.newItem(): JsonValue = when (this) {
    is NewItem -> json
    is Row<*> -> NewItem(id, json ?: content ?: Absent, kind, isExpanded).json
    is Section<*> -> throw IllegalArgumentException("a section is no item: use Edit.sections and NewSection")
    else -> idJson()
}

private fun Any?.anchor(): Any? = when (this) {
    null, Absent -> this
    is Iterable<*> -> this.map { id -> id?.idJson() }
    else -> idJson()
}

/** A row or a section says what it is, in case an item and a section have the same id. */
private fun Any?.parent(): Any? = when (this) {
    Absent -> this
    is Row<*> -> mapOf("item" to id)
    is Section<*> -> mapOf("section" to id)
    else -> idJson()
}
