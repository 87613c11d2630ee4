// A session as it is followed: one thread owns what is shown, the connection and every wait, and takes from one mailbox
// whatever happens. It streams; where streams do not get through it polls for a while, by requests that the server
// holds.

package diffserver

import java.util.concurrent.CountDownLatch
import java.util.concurrent.Executor
import java.util.concurrent.LinkedBlockingQueue
import java.util.concurrent.TimeUnit.MILLISECONDS
import java.util.concurrent.TimeUnit.NANOSECONDS
import java.util.concurrent.TimeUnit.SECONDS

/** A session that is followed. All of it may be called from any thread, and none blocks but [join]. */
class Following internal constructor(
    private val client: DiffClient, from: Followed, window: RowWindow?, private val pollsOnly: Boolean,
    private val executor: Executor, private val onStatus: (Status) -> Unit, private val onUpdate: (ListUpdate) -> Unit
) {
    /** What was delivered last; to go on from later. */
    @Volatile var followed = from
        private set

    private val mailbox = LinkedBlockingQueue<Arrival>()
    @Volatile private var isCancelled = false
    @Volatile private var window = window
    @Volatile private var delivery: CountDownLatch? = null
    private val thread = Thread({ run() }, "diffserver ${client.session}").also { it.isDaemon = true }

    // The thread's own.
    private var revision = from.revision
    private var exchange: Exchange? = null
    private var asked: RowWindow? = null
    /** Until a stream is tried again. */
    private var polls = 0
    private var failures = 0
    private var retry = 1_000L

    private object Cancelled : Exception()
    private object Moved : Exception()

    internal fun start() = thread.start()

    /** Ends it, with the request that is under way. Called where the callbacks run, it is followed by none. */
    fun cancel() {
        isCancelled = true
        mailbox.put(Arrival.Cancelled)
        delivery?.countDown()
    }

    /** Follows other rows from now on, beginning with those that are shown. */
    fun show(window: RowWindow?) {
        this.window = window
        mailbox.put(Arrival.WindowMoved)
    }

    /** Asks at once where it waits to ask again, unless the server asked to be left alone: the network is back. */
    fun wake() = mailbox.put(Arrival.Woken)

    /** Blocks until it has ended: by [cancel], or because asking again could not help. */
    fun join() = thread.join()

    private fun run() {
        try {
            while (!isCancelled) {
                asked = window
                try {
                    if (pollsOnly || polls > 0) poll() else stream()
                } catch (failure: Failure) {
                    finish()
                    if (failure.isFinal) return tell(Status.Stopped(failure.problem))
                    wait(failure)
                } catch (moved: Moved) {
                    finish()
                }
            }
        } catch (cancelled: Cancelled) {
        } finally {
            finish()
        }
    }

    private fun finish() {
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

    private fun sleep(millis: Long, mayBeWoken: Boolean = true) {
        val end = System.nanoTime() + MILLISECONDS.toNanos(millis)
        while (!isCancelled) {
            val left = end - System.nanoTime()
            if (left <= 0) return
            when (mailbox.poll(left, NANOSECONDS)) {
                Arrival.Cancelled -> throw Cancelled
                Arrival.Woken -> if (mayBeWoken) return
                else -> Unit // of what was given up
            }
        }
    }

    /** What comes next from the exchange that is under way. */
    private fun next(end: Long): Arrival {
        while (true) {
            if (isCancelled) throw Cancelled
            if (asked !== window) throw Moved
            val arrival = mailbox.poll(end - System.nanoTime(), NANOSECONDS) ?: throw client.silence()
            when (arrival) {
                is Arrival.Head -> if (arrival.from === exchange) return arrival
                is Arrival.Bytes -> if (arrival.from === exchange) return arrival.also { it.from.makeRoom() }
                is Arrival.End -> if (arrival.from === exchange) return arrival
                else -> Unit // the flags say it
            }
        }
    }

    private fun ask(accept: String, more: List<Pair<String, String>>) {
        val query = ArrayList<Pair<String, String>>()
        if (client.receivesPatches) query.add("content" to "patch")
        client.view?.let { query.add("view" to it.toString()) }
        asked?.let { query.addAll(it.parameters) }
        revision?.let { query.add("since" to it) }
        query.addAll(more)
        exchange = Exchange(client.transport, mailbox) { client.request("GET", query, mapOf("Accept" to accept)) }
    }

    private fun stream() {
        var hasBegun = false
        try {
            ask("text/event-stream", emptyList())
            var end = within(client.beginMillis)
            val collected = Collected()
            val events = EventReader(::take)
            while (true) {
                when (val arrival = next(end)) {
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
                            if (!hasBegun) tell(Status.Live(isStream = true))
                            hasBegun = true
                            events.read(arrival.bytes)
                            end = within(client.silenceMillis)
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

    private fun take(event: String, data: String) {
        when (event) {
            "retry" -> retry = data.toLongOrNull()?.coerceIn(1, 60_000) ?: 1_000
            "id" -> {
                // Nothing shown has changed.
                revision = data
                followed = followed.copy(revision = data)
            }
            "changes" -> receive(parsed(data))
            "end" -> throw Failure(Problem.of(null, data, null))
        }
    }

    private fun parsed(data: String) = try {
        JsonValue.parse(data)
    } catch (misfit: Misfit) {
        throw Failure(Problem(null, "An answer broke off", misfit.message))
    }

    private fun poll() {
        val begin = System.nanoTime()
        ask("application/json", listOf("wait" to "25"))
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
                    tell(Status.Live(isStream = false))
                    val isNews = receive(answer)
                    // Where nobody holds it, it must not go in a circle.
                    val wasHeld = System.nanoTime() - begin >= SECONDS.toNanos(1)
                    if (!isNews && !wasHeld) sleep(pause(failures, retry, null))
                    return
                }
                else -> Unit
            }
        }
    }

    /** Whether an answer is news. */
    private fun receive(answer: JsonValue): Boolean {
        val outcome = try {
            Followed(followed.list, revision, followed.window).take(answer)
        } catch (misfit: Misfit) {
            revision = null // begin anew
            throw Failure(Problem(null, "A changeset did not fit", misfit.message))
        }
        if (outcome === Outcome.Elsewhere) throw Failure(Problem(null, "An answer was lost"), isStale = true)
        failures = 0
        val update = (outcome as? Outcome.Updated)?.update ?: return false
        revision = update.followed.revision
        deliver {
            followed = update.followed
            onUpdate(update)
        }
        return true
    }

    private fun tell(status: Status) = deliver { onStatus(status) }

    /** Calls back where that is wanted, and waits for it, but no longer than until it is cancelled. */
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
