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
 * @param onStatus called with what the connection is doing, where the flow is collected.
 * @throws ProblemException, to the collector, when asking again cannot help.
 */
fun <T> DiffClient<T>.updates(
    from: Followed<T> = Followed(), window: RowWindow? = null, onStatus: (Status) -> Unit = {}
): Flow<ListUpdate<T>> = flow {
    val inbox = Inbox()
    var update: ListUpdate<T>? = null
    var problem: Problem? = null
    val following = follow(from, window, executor = inbox, onStatus = {
        onStatus(it)
        if (it is Status.Stopped) problem = it.problem
    }, onUpdate = { update = it })
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

/** Like [DiffClient.post]; interrupted when its coroutine is cancelled. */
suspend fun DiffClient<*>.awaitPost(state: JsonValue, ifMatch: String? = null): String =
    interruptible { post(state, ifMatch) }

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
