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
 * Follows the session for as long as somebody collects: what it holds, and from then on each change.
 *
 * @param from what is shown already, to go on from there.
 * @param onStatus told what the connection is doing, where the flow is collected.
 * @throws ProblemException, to the collector, when asking again cannot help.
 */
fun DiffClient.updates(
    from: Followed = Followed(), window: RowWindow? = null, onStatus: (Status) -> Unit = {}
): Flow<ListUpdate> = flow {
    val inbox = Inbox()
    var update: ListUpdate? = null
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

/** As [DiffClient.post]; ended when its coroutine is cancelled. */
suspend fun DiffClient.awaitPost(state: JsonValue, ifMatch: String? = null): String =
    interruptible { post(state, ifMatch) }

/** As [DiffClient.edit]; ended when its coroutine is cancelled. */
suspend fun DiffClient.awaitEdit(vararg edits: JsonValue, ifMatch: String? = null): String =
    interruptible { edit(*edits, ifMatch = ifMatch) }

private suspend fun interruptible(work: () -> String): String = suspendCancellableCoroutine { waiting ->
    val worker = thread(isDaemon = true, name = "diffserver write") {
        val result = try { Result.success(work()) } catch (error: Throwable) { Result.failure<String>(error) }
        // Nobody waits for the end of what was interrupted.
        result.fold({ waiting.resume(it) }, { if (waiting.isActive) waiting.resumeWithException(it) })
    }
    waiting.invokeOnCancellation { worker.interrupt() }
}

/** Hands what is to be called over to a coroutine that waits for it. */
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
