// The same for coroutines. While a collector is busy, nothing is delivered, and the stream waits.

package diffserver

import java.util.LinkedList
import java.util.concurrent.Executor
import kotlin.concurrent.thread
import kotlin.coroutines.resume
import kotlin.coroutines.resumeWithException
import kotlinx.coroutines.CancellableContinuation
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.suspendCancellableCoroutine

/**
 * Follows the session for as long as somebody collects: emits its state, and then each change.
 *
 * @param from what is shown already, to continue from.
 * @param onStatus called with what the connection is doing, where the flow is collected; so is `onPending`.
 * @throws ProblemException, to the collector, when asking again cannot help.
 */
fun <T> DiffClient<T>.updates(
    from: Followed<T> = Followed(), window: RowWindow? = null, onStatus: (Status) -> Unit = {},
    onPending: (Pending) -> Unit = {}
): Flow<ListUpdate<T>> = flow {
    val inbox = Inbox()
    var update: ListUpdate<T>? = null
    var problem: Problem? = null
    val following = follow(from, window, executor = inbox, onStatus = {
        onStatus(it)
        if (it is Status.Stopped) problem = it.problem
    }, onPending = onPending, onUpdate = { update = it })
    try {
        while (true) {
            inbox.take().run()
            problem?.let { throw ProblemException(it) }
            val next = update ?: continue
            update = null
            emit(next)
        }
    } finally {
        following.cancel()
    }
}

/** What a screen shows: an immutable value. */
data class ListState<out T>(
    /** The server's last state, without pending edits: to continue from. */
    val followed: Followed<T> = Followed(),
    /** The rows to show, with pending edits. */
    val list: RowList<T> = followed.list,
    /** What the connection is doing; null before it has begun. [Status.Stopped] is the last. */
    val status: Status? = null,
    /** The client's edits that wait for the server: `pending.count`, and for a row `pending.has(row)`. */
    val pending: Pending = Pending()
)

/** Follows the session for as long as somebody collects, or until asking again cannot help, which the status says. */
fun <T> DiffClient<T>.states(from: Followed<T> = Followed(), window: RowWindow? = null): Flow<ListState<T>> = flow {
    val inbox = Inbox()
    var state = ListState(from)
    val following = follow(from, window, executor = inbox, onStatus = { state = state.copy(status = it) },
        onPending = { state = state.copy(pending = it) },
        onUpdate = { state = state.copy(followed = it.followed, list = it.list) })
    try {
        emit(state)
        while (state.status !is Status.Stopped) {
            inbox.take().run()
            emit(state)
        }
    } finally {
        following.cancel()
    }
}

/** Like [DiffClient.post]; interrupted when its coroutine is cancelled. */
suspend fun DiffClient<*>.awaitPost(state: JsonValue, ifMatch: String? = null, shape: RowShape? = null): String =
    interruptible { post(state, ifMatch, shape) }

/** Like [DiffClient.edit]; interrupted when its coroutine is cancelled. */
suspend fun DiffClient<*>.awaitEdit(vararg edits: Edit, ifMatch: String? = null): String =
    interruptible { edit(*edits, ifMatch = ifMatch) }

private suspend fun interruptible(work: () -> String): String = suspendCancellableCoroutine { waiting ->
    val worker = thread(isDaemon = true, name = "diffserver write") {
        val result = try { Result.success(work()) } catch (error: Throwable) { Result.failure<String>(error) }
        // Nobody waits for the end of an interrupted call.
        result.fold({ waiting.resume(it) }, { if (waiting.isActive) waiting.resumeWithException(it) })
    }
    waiting.invokeOnCancellation { worker.interrupt() }
}

/** Hands callbacks over to a coroutine that waits for them. */
private class Inbox : Executor {
    private val held = LinkedList<Runnable>()
    private var waiting: CancellableContinuation<Runnable>? = null

    override fun execute(callback: Runnable) {
        val collector = synchronized(this) {
            if (waiting == null) held.add(callback)
            waiting.also { waiting = null }
        }
        collector?.resume(callback)
    }

    suspend fun take(): Runnable = suspendCancellableCoroutine { collector ->
        val next = synchronized(this) {
            if (held.isEmpty()) waiting = collector
            held.poll()
        }
        if (next != null) collector.resume(next)
    }
}
