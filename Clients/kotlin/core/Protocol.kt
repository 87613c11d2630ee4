// The protocol as plain values: the rows that a client shows, the server's answers, and the client's rule, which is the
// same for a stream, a poll and a POST. docs/api and docs/clients.md describe it.

package diffserver

/** Decodes the content of a row. */
typealias Decoder<T> = (JsonValue) -> T

/** A visible item. Ids are text: `1` and `"1"` are one id. */
data class Row<out T>(
    val id: String,
    /** Its content, decoded; null is none. */
    val content: T? = null,
    /** The type of cell. */
    val kind: String? = null,
    /** Ancestors within the section. */
    val level: Int = 0,
    /** The parent item. */
    val parent: String? = null,
    /** Whether its children are rows as well. */
    val isExpanded: Boolean = true,
    /** Direct children, hidden ones included. */
    val children: Int = 0,
    /** Its content as received; `JsonValue.Null` is a content, null is none. A copy with another `content` keeps it. */
    val json: JsonValue? = content as? JsonValue
) {
    /** Rows with equal JSON are equal: a type of the app's need not say what equal is. */
    override fun equals(other: Any?) = other is Row<*> && id == other.id && kind == other.kind &&
        level == other.level && parent == other.parent && isExpanded == other.isExpanded &&
        children == other.children && json == other.json && (json != null || content == other.content)

    override fun hashCode() = id.hashCode()
}

/** A section, and its rows in order. */
data class Section<out T>(
    val id: String,
    /** What its header shows. */
    val content: JsonValue? = null,
    /** Whether its items are rows. */
    val isExpanded: Boolean = true,
    val rows: List<Row<T>> = emptyList()
)

/** What a client shows: a value. Parts that a changeset leaves alone stay the same objects, so `===` tells. */
data class RowList<out T>(
    val sections: List<Section<T>> = emptyList(),
    /** What the list shows besides its rows, such as a title. */
    val content: JsonValue? = null
) {
    /** The rows of all sections, in order. */
    val rows: List<Row<T>> get() = sections.flatMap { it.rows }

    internal fun requireUniqueIDs() {
        val (sectionIDs, rowIDs) = HashSet<String>() to HashSet<String>()
        for (section in sections) {
            if (!sectionIDs.add(section.id)) throw Misfit("two sections have the id \"${section.id}\"")
            for (row in section.rows) if (!rowIDs.add(row.id)) throw Misfit("two rows have the id \"${row.id}\"")
        }
    }

    companion object {
        /**
         * Reads the `state` of a reset: sections of rows, never nested.
         *
         * @throws Misfit if it is anything else, or repeats an id.
         */
        fun <T> of(state: JsonValue, decoder: Decoder<T>): RowList<T> {
            val members = state.members("sections", "content")
            val sections = members.required("sections").asArray().map { it.toSection(decoder) }
            return RowList(sections, members["content"]).also { it.requireUniqueIDs() }
        }
    }
}

/** The place of a window's rows among all rows. */
data class WindowBounds(
    /** The row that the window is around; null if there is none. */
    val anchor: String?,
    /** Rows before the first one. */
    val above: Int,
    /** Rows after the last one. */
    val below: Int
)

/** How to redraw a row or a section that shows something else. */
enum class Redraw {
    /** In the same cell. */
    RECONFIGURE,

    /** In a new cell. */
    RELOAD
}

/** Why a request failed: the server's problem (RFC 9457), or one on the way to it. */
data class Problem(
    /** Null if no answer came. */
    val status: Int?,
    /** For people. */
    val title: String,
    /** What was wrong this time, for people. */
    val detail: String? = null,
    /** The page that explains it, such as `/problems/session-not-found`. */
    val type: String? = null,
    /** The head, if a revision was required and the head was another one. */
    val current: String? = null,
    /** How long the server wants no further request. */
    val retryAfterMillis: Long? = null,
    /** Each place in the request's body that breaks a rule; empty if the server names none. */
    val errors: List<Violation> = emptyList()
) {
    /** Whether the same request may succeed later. */
    internal val isPassing get() = status == null || status >= 500 || status in listOf(404, 408, 425, 429)

    companion object {
        internal fun of(status: Int?, body: String, retryAfterMillis: Long?): Problem {
            val json = try { JsonValue.parse(body) } catch (misfit: Misfit) { JsonValue.Null }
            return Problem(
                json["status"]?.int ?: status, json["title"]?.string ?: "Status $status", json["detail"]?.string,
                json["type"]?.string, json["current"]?.string, retryAfterMillis,
                json["errors"]?.array.orEmpty().mapNotNull { violation(it) }
            )
        }

        /** Null if it does not say where and what. */
        private fun violation(json: JsonValue): Violation? {
            val pointer = json["pointer"]?.string ?: return null
            val code = json["code"]?.string ?: return null
            return Violation(pointer, code, json["detail"]?.string.orEmpty())
        }
    }
}

/** One place in a body that breaks a rule. */
data class Violation(
    /** A JSON Pointer (RFC 6901) into the body, such as `/edits/0/before`. */
    val pointer: String,
    /** A short name for programs, such as `anchor-not-found`. */
    val code: String,
    /** For people. */
    val detail: String
)

/** A request that failed for good. Its message names the first place that breaks a rule. */
class ProblemException(val problem: Problem) : Exception(
    listOfNotNull(problem.status, problem.title, problem.errors.firstOrNull()?.pointer, problem.detail)
        .joinToString(": "))

/** The form of changes. */
enum class Dialect(internal val word: String) {
    /** By id: for Compose, and anything that shows the whole list anyway. */
    KEYED("keyed"),

    /** By index on one flat list, in which an empty section without content has no place: RecyclerView. */
    SEQUENTIAL("sequential")
}

/** How a list became another one. */
sealed class Change {
    /** All of it is new: `initial`, `expired`, `unknown`, `replaced`, `reloaded`, `large`, or another reason. */
    data class Reset(val reason: String) : Change()

    /** These operations, as the server wrote them. */
    data class Keyed(val operations: JsonValue) : Change()

    /** These splices of the [entries], one after the other. */
    data class Sequential(val splices: List<Splice>) : Change()
}

/** What a client shows, and its name: to continue from later, in memory or from a file. */
data class Followed<out T>(
    val list: RowList<T> = RowList(),
    /** Null before the first answer. */
    val revision: String? = null,
    val window: WindowBounds? = null
)

/** A list newer than the previous one, and how it came about. */
class ListUpdate<out T> internal constructor(
    /** What was shown before. */
    val before: RowList<T>,
    /** The list as the server told it, without pending edits: to continue from later. */
    val followed: Followed<T>,
    val change: Change,
    /** What to show: the list with all pending edits. */
    val list: RowList<T> = followed.list
) {
    /** Its place among all rows, if a window is followed. */
    val window get() = followed.window
}

/** The result of an answer. */
sealed class Outcome<out T> {
    class Updated<out T>(val update: ListUpdate<T>) : Outcome<T>()

    /** The list is as new as the answer. */
    object Current : Outcome<Nothing>()

    /** The answer is for another list: ask again. */
    object Elsewhere : Outcome<Nothing>()
}

/**
 * The client's rule: a reset replaces everything, changes from my revision are applied, those to it were seen before,
 * and for all others the client asks again.
 *
 * @throws Misfit if it is not an answer, or does not fit. Then ask for everything.
 * @throws UnreadableContent if the decoder throws.
 */
fun <T> Followed<T>.take(answer: JsonValue, decoder: Decoder<T>): Outcome<T> {
    val to = answer["to"]?.string ?: throw Misfit("an answer says where it leads to")
    val window = answer["window"]?.let {
        val anchor = it["anchor"]?.takeUnless { id -> id === JsonValue.Null }?.id()
        WindowBounds(anchor, it.required("above").integer(), it.required("below").integer())
    }
    val isSequential = answer["dialect"]?.string == Dialect.SEQUENTIAL.word
    answer["reset"]?.let { reason ->
        val state = RowList.of(answer.required("state"), decoder)
        val next = Followed(if (isSequential) state.withoutUnseen() else state, to, window)
        val change = Change.Reset(reason.string ?: throw Misfit("a reset has a reason"))
        return Outcome.Updated(ListUpdate(list, next, change))
    }
    val from = answer["from"]?.string
    if (revision != null && to == revision) return Outcome.Current
    if (revision == null || from != revision) return Outcome.Elsewhere
    val base = answer["list"]?.let { list.changing(it) } ?: list
    val changes = answer.required("changes")
    val (next, change) = when {
        isSequential -> base.applyingSequential(changes, decoder)
        answer["dialect"]?.string == Dialect.KEYED.word ->
            base.applyingKeyed(changes, decoder) to Change.Keyed(changes)
        else -> throw Misfit("changes in an unsupported dialect")
    }
    return Outcome.Updated(ListUpdate(list, Followed(next, to, window), change))
}

/** The list after a change of its own content. */
private fun <T> RowList<T>.changing(change: JsonValue): RowList<T> =
    copy(content = change.members("content", "patch", "append").content(content))

// MARK: Reading. A member that is not known is refused: what a client does not understand it must not show as if it
// had.

internal fun JsonValue.members(vararg known: String): Map<String, JsonValue> {
    val members = (this as? JsonValue.Object ?: throw Misfit("an object is expected instead of $this")).members
    for (name in members.keys) if (name !in known) throw Misfit("unknown member \"$name\"")
    return members
}

internal fun Map<String, JsonValue>.required(name: String) = get(name) ?: throw Misfit("$name is missing")
internal fun JsonValue.required(name: String) = get(name) ?: throw Misfit("$name is missing")
internal fun JsonValue.asArray() = array ?: throw Misfit("an array is expected instead of $this")
internal fun JsonValue.integer() = int ?: throw Misfit("a whole number is expected instead of $this")
internal fun JsonValue.flag() = boolean ?: throw Misfit("true or false is expected instead of $this")

internal fun JsonValue.id(): String = when (this) {
    is JsonValue.Text -> value
    is JsonValue.Number -> token.takeIf { token -> token.all { it == '-' || it in '0'..'9' } }
    else -> null
} ?: throw Misfit("an id is expected instead of $this")

internal fun JsonValue.redraw() = when (string) {
    "reconfigure" -> Redraw.RECONFIGURE
    "reload" -> Redraw.RELOAD
    else -> throw Misfit("as must be reload or reconfigure")
}

/** A row, with defaults left out; its content may be a change of the old one. */
internal fun <T> JsonValue.toRow(decoder: Decoder<T>, old: Row<T>? = null): Row<T> {
    val changes = if (old == null) emptyArray<String>() else arrayOf("patch", "append")
    val members = members("id", "content", "kind", "level", "parent", "expanded", "children", *changes)
    val (id, json) = members.required("id").id() to members.content(old?.json)
    return Row(
        id, json.decoded(decoder, id, old), members["kind"]?.let { it.string ?: throw Misfit("a kind is a string") },
        members["level"]?.integer() ?: 0, members["parent"]?.takeUnless { it === JsonValue.Null }?.id(),
        members["expanded"]?.flag() ?: true, members["children"]?.integer() ?: 0, json
    ).also { if (old != null && old.id != it.id) throw Misfit("\"${old.id}\" stands where \"${it.id}\" is updated") }
}

/** A content decoded; one that stays the same is not decoded again. */
internal fun <T> JsonValue?.decoded(decoder: Decoder<T>, id: String, old: Row<T>?): T? = when {
    this == null -> null
    old != null && this == old.json -> old.content
    else -> try { decoder(this) } catch (error: Exception) { throw UnreadableContent(id, error) }
}

/** A new section with its rows. */
internal fun <T> JsonValue.toSection(decoder: Decoder<T>): Section<T> {
    val members = members("id", "content", "expanded", "items")
    return Section(
        members.required("id").id(), members["content"], members["expanded"]?.flag() ?: true,
        members["items"]?.asArray().orEmpty().map { it.toRow(decoder) }
    )
}

/** A section after an update; its rows stay. */
internal fun <T> JsonValue.toSection(old: Section<T>): Section<T> {
    val members = members("id", "content", "expanded", "patch", "append")
    if (members.required("id").id() != old.id) throw Misfit("\"${old.id}\" stands where $this is updated")
    return old.copy(content = members.content(old.content), isExpanded = members["expanded"]?.flag() ?: true)
}

private fun Map<String, JsonValue>.content(old: JsonValue?): JsonValue? {
    val (patch, append) = get("patch") to get("append")
    if (patch == null && append == null) return get("content")
    if ("content" in this) throw Misfit("an update has content or a change of it, not both")
    if (old == null) throw Misfit("a change for an element without content")
    val patched = if (patch == null) old else old.merging(patch)
    return if (append == null) patched else patched.appending(append)
}
