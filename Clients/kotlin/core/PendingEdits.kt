// What is shown is the head (the rows as the server told them) with all pending edits applied to it again; each update
// leads there in one step. So a row moved by an edit does not move again when that is confirmed, and goes back once if
// it is refused.
//
// An edit is pending for a list until the list holds it. Its answer is not enough, since the list may be older: its
// revision tells, or a read that began after the answer. A session that was made again numbers its revisions anew, and
// answers a reader of the old one with `unknown`: edits answered until then are pending no longer. Several lists may be
// followed, so answered edits are kept for those that are behind.

package diffserver

import java.util.concurrent.CopyOnWriteArraySet
import java.util.concurrent.locks.ReentrantLock
import kotlin.concurrent.withLock

/** Edits that the server has not answered yet. */
data class Pending(
    /** How many calls of `edit` wait. */
    val count: Int = 0,
    private val ids: Set<String> = emptySet()
) {
    /** Whether one of them names the row, or the section. */
    fun has(id: Any) = id.idText() in ids
}

/** Edits of one client that its lists may not hold yet. */
internal class PendingEdits {
    /** One call of `edit`. */
    class Batch(val edits: List<Edit>) {
        /** When it was answered, by `System.nanoTime`, and with which revision. */
        @Volatile var answer: Pair<Long, String>? = null

        /** Whether a list that has all answered before a time (null if none is known) holds it. */
        fun isIn(revision: String, readAt: Long?): Boolean {
            val (answeredAt, to) = answer ?: return false
            return sequence(to) <= sequence(revision) || readAt != null && readAt - answeredAt > 0
        }

        /** In one session, a later revision has a larger number. */
        private fun sequence(revision: String) = revision.takeWhile { it in '0'..'9' }.toLongOrNull() ?: 0
    }

    /** In the order in which they were made; a new list whenever anything in it changes. */
    @Volatile var batches: List<Batch> = emptyList()
        private set

    /** Those without an answer. */
    val waiting: Pending
        get() = batches.filter { it.answer == null }.let { left ->
            Pending(left.size, left.flatMap { it.edits }.flatMap { it.json.mentioned() }.toSet())
        }

    /** Called at each change, on any thread. */
    val listeners = CopyOnWriteArraySet<() -> Unit>()

    private val lock = ReentrantLock()
    private val turn = lock.newCondition()

    /** Shows edits, and posts them when earlier ones are answered; if that fails, they are taken back. */
    fun send(edits: List<Edit>, post: () -> String): String {
        val batch = Batch(edits)
        change { batches = batches + batch }
        var revision: String? = null
        try {
            lock.withLock { while (batches.first { it.answer == null } !== batch) turn.await() }
            return post().also { revision = it }
        } finally {
            change {
                batch.answer = revision?.let { System.nanoTime() to it }
                val rest = if (revision == null) batches - batch else batches
                batches = rest.drop(maxOf(0, rest.takeWhile { it.answer != null }.size - MAX_ANSWERED))
            }
        }
    }

    private fun change(body: () -> Unit) {
        lock.withLock {
            body()
            turn.signalAll()
        }
        for (listener in listeners) listener()
    }

    private companion object {
        /** How many answered edits are kept for lists that nobody currently follows. */
        const val MAX_ANSWERED = 64
    }
}

/** The ids of rows and sections in an edit, and of those inside them. */
private fun JsonValue.mentioned(): List<String> =
    listOfNotNull(this["items"], this["sections"]).flatMap { it.array.orEmpty() }.flatMap { element ->
        val id = element["id"] ?: element
        val text = try { id.id() } catch (misfit: Misfit) { null } // the server refuses it
        listOfNotNull(text) + element.mentioned()
    }

/**
 * The list with edits applied. A batch that does not fit is left out, as the server refuses it, and so is one whose
 * contents cannot be decoded.
 */
internal fun <T> Followed<T>.overlaid(
    batches: List<PendingEdits.Batch>, readAt: Long?, decoder: Decoder<T>
): RowList<T> =
    if (revision == null) list
    else batches.filterNot { it.isIn(revision, readAt) }.fold(list) { list, batch ->
        try {
            list.edited(batch.edits, decoder)
        } catch (misfit: Misfit) {
            list
        } catch (unreadable: UnreadableContent) {
            list
        }
    }
