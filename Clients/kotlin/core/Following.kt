// A session being followed: one thread owns what is shown, the connection and every wait, and takes everything that
// happens from one mailbox. It streams; where streams do not get through it polls for a while, by requests that the
// server holds.

package diffserver

import java.util.concurrent.CountDownLatch
import java.util.concurrent.Executor
import java.util.concurrent.LinkedBlockingQueue
import java.util.concurrent.TimeUnit.MILLISECONDS
import java.util.concurrent.TimeUnit.NANOSECONDS
import java.util.concurrent.TimeUnit.SECONDS
import kotlin.random.Random

private object Cancelled : Exception()
private object Moved : Exception()

/** A session being followed. All members may be called from any thread, and none blocks but [join]. */
class Following<T> internal constructor(
    private val client: DiffClient<T>, from: Followed<T>, window: RowWindow?, private val pollsOnly: Boolean,
    private val executor: Executor, private val onStatus: (Status) -> Unit, private val onPending: (Pending) -> Unit,
    private val onUpdate: (ListUpdate<T>) -> Unit
) {
    /** What was delivered last, without edits that are pending; to go on from later. */
    @Volatile var followed = from
        private set

    private val mailbox = LinkedBlockingQueue<Arrival>()
    @Volatile private var isCancelled = false
    @Volatile private var window = window
    @Volatile private var delivery: CountDownLatch? = null
    private val thread = Thread({ run() }, "diffserver ${client.session}").also { it.isDaemon = true }

    // Owned by the thread.
    private var revision = from.revision
    private var exchange: Exchange? = null
    /** The request beside a stream that is silent about a list: whether the list exists. */
    private var look: Exchange? = null
    private var looked = Collected()
    /** Whether the stream has said anything about the list. */
    private var isKnown = false
    /** For how many seconds the list's source, or the server's store, has been silent; null if it is not. */
    private var stale: Int? = null
    private var asked: RowWindow? = null
    /** When the exchange began. */
    private var began = 0L
    private var isPolling = false
    /** Edits answered before are not pending: when the last poll answered began, or an unknown list came. */
    private var readAt: Long? = null
    /** What was delivered last, and the edits it was made with; null if they must be examined again. */
    private var shown = from.list
    private var overlaid: List<PendingEdits.Batch>? = null
    /** What `onPending` was told, and of which edits. */
    private var waiting = Pending()
    private var toldOf: List<PendingEdits.Batch>? = null
    private val onEdits = { mailbox.put(Arrival.Edited) }
    /** The form of contents; null for whole ones. An older server knows no `delta`. */
    private var content = if (client.receivesPatches) "delta" else null
    /** Polls left until a stream is tried again. */
    private var polls = 0
    private var failures = 0
    private var retry = maxOf(1_000L, client.pollMillis ?: 0L)
    /** The last report, and whether it was that there is no session. */
    private var told: Status? = null
    private val isMissing get() = (told as? Status.Waiting)?.problem?.status == 404

    internal fun start() {
        client.pending.listeners.add(onEdits)
        thread.start()
    }

    /** Ends it, with the request under way. If called where the callbacks run, no callback follows. */
    fun cancel() {
        isCancelled = true
        mailbox.put(Arrival.Cancelled)
        delivery?.countDown()
    }

    /** Follows other rows from now on, beginning with those shown. */
    fun show(window: RowWindow?) {
        this.window = window
        mailbox.put(Arrival.WindowMoved)
    }

    /** Ends a pause between requests, unless the server asked for it: call it when the network is back. */
    fun wake() = mailbox.put(Arrival.Woken)

    /** Blocks until it has ended: by [cancel], or because asking again could not help. */
    fun join() = thread.join()

    private fun run() {
        try {
            while (!isCancelled) {
                asked = window
                try {
                    if (pollsOnly || client.pollMillis != null || polls > 0) poll() else stream()
                } catch (failure: Failure) {
                    finish()
                    if (failure.problem.status == 400 && content == "delta") content = "patch"
                    else if (failure.isFinal) return tell(Status.Stopped(failure.problem))
                    else wait(failure)
                } catch (moved: Moved) {
                    finish()
                }
            }
        } catch (cancelled: Cancelled) {
        } finally {
            client.pending.listeners.remove(onEdits)
            finish()
        }
    }

    private fun finish() {
        endLook()
        exchange?.cancel()
        exchange = null
    }

    private fun wait(failure: Failure) {
        val least = failure.problem.retryAfterMillis
        val delay = if (failure.isStale && failures == 0) 0 else pause(failures, retry, least)
        failures += 1
        tell(Status.Waiting(failure.problem, delay))
        sleep(delay, mayBeWoken = least == null)
    }

    private fun sleep(millis: Long, mayBeWoken: Boolean = true, mayMove: Boolean = false) {
        val end = System.nanoTime() + MILLISECONDS.toNanos(millis)
        while (!isCancelled) {
            if (mayMove && asked !== window) return
            showEdits()
            val left = end - System.nanoTime()
            if (left <= 0) return
            when (mailbox.poll(left, NANOSECONDS)) {
                Arrival.Cancelled -> throw Cancelled
                Arrival.Woken -> if (mayBeWoken) return
                else -> Unit // from an abandoned one
            }
        }
    }

    /** The next arrival from the exchange under way, or the one beside it; null if there is none until then. */
    private fun nextOrNull(end: Long): Arrival? {
        while (true) {
            if (isCancelled) throw Cancelled
            if (asked !== window) throw Moved
            showEdits()
            val late = settleEnd()
            val left = minOf(end - System.nanoTime(), late?.let { it - System.nanoTime() } ?: Long.MAX_VALUE)
            val arrival = mailbox.poll(left, NANOSECONDS)
            if (arrival == null && late != null && late - System.nanoTime() <= 0) {
                polls = maxOf(polls, 1)
                throw Moved
            }
            if (arrival == null) return null
            val from = arrival.from ?: continue // the flags say it
            if (from !== exchange && from !== look) continue
            if (arrival is Arrival.Bytes) from.makeRoom()
            return arrival
        }
    }

    private fun next(end: Long): Arrival = nextOrNull(end) ?: throw client.silence()

    private fun ask(accept: String, more: List<Pair<String, String>>): Exchange {
        val query = ArrayList<Pair<String, String>>()
        content?.let { query.add("content" to it) }
        client.view?.let { query.add("view" to it.toString()) }
        asked?.let { query.addAll(it.parameters) }
        revision?.let { query.add("since" to it) }
        query.addAll(more)
        return Exchange(client.transport, mailbox) { client.request("GET", query, mapOf("Accept" to accept)) }
    }

    private fun stream() {
        var hasBegun = false
        var hasLooked = isMissing
        isKnown = false
        stale = null
        try {
            began = System.nanoTime()
            isPolling = false
            exchange = ask("text/event-stream", emptyList())
            var end = within(client.beginMillis)
            // When to ask whether the session exists: a stream waits silently for a missing one.
            var quiet: Long? = null
            val collected = Collected()
            val events = EventReader(::take)
            while (true) {
                val arrival = nextOrNull(quiet ?: end)
                if (arrival == null) {
                    if (quiet == null) throw client.silence()
                    quiet = null
                    hasLooked = true
                    looked = Collected()
                    look = ask("application/json", emptyList())
                    continue
                }
                if (arrival.from === look) {
                    takeBeside(arrival)
                    continue
                }
                when (arrival) {
                    is Arrival.Head -> {
                        collected.head = arrival.response
                        val type = arrival.response.header("Content-Type").orEmpty()
                        if (arrival.response.status in 200..299 && !type.startsWith("text/event-stream")) {
                            throw Failure(Problem(406, "An answer that is no stream"))
                        }
                    }
                    is Arrival.Bytes -> {
                        if (collected.head!!.status !in 200..299) collected.add(arrival.bytes)
                        else {
                            hasBegun = true
                            events.read(arrival.bytes)
                            end = within(client.silenceMillis)
                            val mayBeMissing = !isKnown && !hasLooked && events.isBetweenEvents
                            quiet = if (mayBeMissing) within(client.quietMillis) else null
                        }
                    }
                    is Arrival.End -> {
                        client.good(collected, arrival)
                        throw Failure(connectionProblem(null))
                    }
                    else -> Unit
                }
            }
        } catch (failure: Failure) {
            // No streams here, or something on the way holds them back: poll for a while.
            if ((hasBegun || !failure.isSilence) && failure.problem.status != 406) throw failure
            finish()
            polls = 5
        }
    }

    /** The answer beside the stream, if there is no session. The stream reports an existing one itself. */
    private fun takeBeside(arrival: Arrival) {
        when (arrival) {
            is Arrival.Head -> if (arrival.response.status == 404) looked.head = arrival.response else endLook()
            is Arrival.Bytes -> looked.add(arrival.bytes)
            is Arrival.End -> {
                endLook()
                try {
                    client.good(looked, arrival)
                } catch (failure: Failure) {
                    if (failure.problem.status == 404 && !isKnown) tell(Status.Waiting(failure.problem, 0))
                }
            }
            else -> Unit
        }
    }

    private fun endLook() {
        look?.cancel()
        look = null
    }

    private fun take(event: String, data: String) {
        when (event) {
            "retry" -> {
                retry = data.toLongOrNull()?.coerceIn(1, 60_000) ?: 1_000
                return
            }
            "id" -> {
                tellLive(stale)
                // Nothing shown has changed.
                failures = 0
                revision = data
                followed = followed.copy(revision = data)
                overlaid = null
            }
            "changes" -> {
                val answer = parsed(data)
                tellLive(answer["stale"]?.int)
                receive(answer)
            }
            "end" -> throw Failure(Problem.of(null, data, null))
        }
        isKnown = true
    }

    private fun tellLive(seconds: Int?) {
        if (!isKnown || seconds != stale) tell(Status.Live(!isPolling, seconds))
        stale = seconds
    }

    private fun parsed(data: String) = try {
        JsonValue.parse(data)
    } catch (misfit: Misfit) {
        throw Failure(Problem(null, "An answer broke off", misfit.message))
    }

    private fun poll() {
        val begin = System.nanoTime()
        isPolling = true
        // Without a base, an existing session answers at once, and only a missing one would be held. Not held either
        // while an answered edit is not known to be in the list.
        val every = client.pollMillis
        val mayBeHeld = every == null && (revision != null || isMissing) && late().isEmpty()
        began = begin
        // As browsers ask, so that a cache has one answer for all.
        val accept = if (every == null) "application/json" else "*/*"
        exchange = ask(accept, if (mayBeHeld) listOf("wait" to "25") else emptyList())
        val collected = Collected()
        val end = within(client.silenceMillis)
        while (true) {
            when (val arrival = next(end)) {
                is Arrival.Head -> collected.head = arrival.response
                is Arrival.Bytes -> collected.add(arrival.bytes)
                is Arrival.End -> {
                    val answer = client.good(collected, arrival).json()
                    finish()
                    polls -= 1
                    readAt = begin
                    overlaid = null
                    val live = Status.Live(isStream = false, stale = answer["stale"]?.int)
                    if (live != told) tell(live)
                    val isNews = receive(answer)
                    if (every != null) return sleep((every * Random.nextDouble(0.9, 1.1)).toLong(), mayMove = true)
                    // If nobody holds it, it must not spin.
                    val wasHeld = System.nanoTime() - begin >= SECONDS.toNanos(1)
                    if (!isNews && mayBeHeld && !wasHeld) sleep(pause(failures, retry, null))
                    return
                }
                else -> Unit
            }
        }
    }

    /** Whether an answer is news. */
    private fun receive(answer: JsonValue): Boolean {
        val outcome = try {
            Followed(followed.list, revision, followed.window).take(answer, client.decoder)
        } catch (misfit: Misfit) {
            revision = null // start again
            throw Failure(Problem(null, "A changeset could not be applied", misfit.message))
        } catch (unreadable: UnreadableContent) {
            throw Failure(Problem(null, "A content cannot be read", unreadable.message), isFinal = true)
        }
        if (outcome === Outcome.Elsewhere) throw Failure(Problem(null, "An answer was lost"), isStale = true)
        failures = 0
        val update = (outcome as? Outcome.Updated)?.update ?: return false
        revision = update.followed.revision
        // It may be another session of that name, whose revisions are numbered anew: what was answered before is in the
        // list, or went with the old one.
        if ((update.change as? Change.Reset)?.reason == "unknown") readAt = System.nanoTime()
        val batches = client.pending.batches
        overlaid = batches
        val next = update.followed.overlaid(batches, readAt, client.decoder)
        // Without edits before and after it, the server's own changes are the step.
        if (shown === update.before && next === update.list) deliver(update)
        else {
            val change = update.change as? Change.Reset ?: shown.change(next, client.dialect, update.redraws())
            deliver(ListUpdate(shown, update.followed, change, next))
        }
        return true
    }

    /** Shows the outcome of pending edits. */
    private fun showEdits() {
        val batches = client.pending.batches
        if (batches !== overlaid) overlay(batches)
        if (batches === toldOf) return
        toldOf = batches
        val now = client.pending.waiting
        if (now == waiting) return
        waiting = now
        deliver { onPending(now) }
    }

    private fun overlay(batches: List<PendingEdits.Batch>) {
        overlaid = batches
        val head = followed
        val next = head.overlaid(batches, readAt, client.decoder)
        if (next === shown) return
        val change = shown.change(next, client.dialect, emptyMap())
        if (!change.isEmpty) deliver(ListUpdate(shown, head, change, next))
    }

    /** Edits that are answered, but not known to be in the list. */
    private fun late() = followed.revision?.let { revision ->
        client.pending.batches.filter { it.answer != null && !it.isIn(revision, readAt) }
    }.orEmpty()

    /**
     * When to ask whether the list has an answered edit: the stream may be down, or the session another one. Null if it
     * has them all, or if a request that began after the answer is under way.
     */
    private fun settleEnd(): Long? = late().mapNotNull { batch ->
        val wait = began - batch.answer!!.first
        if (isPolling && wait > 0) null else batch.answer!!.first + maxOf(wait, 0)
    }.sorted().firstOrNull()?.plus(MILLISECONDS.toNanos(client.settleMillis))

    private fun deliver(update: ListUpdate<T>) {
        shown = update.list
        deliver {
            followed = update.followed
            onUpdate(update)
        }
    }

    private fun tell(status: Status) {
        told = status
        deliver { onStatus(status) }
    }

    /** Runs a callback on its executor, and waits for it, but no longer than until it is cancelled. */
    private fun deliver(callback: () -> Unit) {
        val done = CountDownLatch(1)
        delivery = done
        executor.execute {
            try {
                if (!isCancelled) callback()
            } finally {
                done.countDown()
            }
        }
        if (!isCancelled) done.await()
        delivery = null
        if (isCancelled) throw Cancelled
    }

    private fun within(millis: Long) = System.nanoTime() + MILLISECONDS.toNanos(millis)
}
