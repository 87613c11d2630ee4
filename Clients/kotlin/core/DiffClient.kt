// A client of one session. There is no diff code: the server says what changed.

package diffserver

import java.net.URLEncoder
import java.util.UUID
import java.util.concurrent.Executor
import java.util.concurrent.LinkedBlockingQueue
import java.util.concurrent.TimeUnit.MILLISECONDS
import java.util.concurrent.TimeUnit.NANOSECONDS
import kotlin.random.Random

/**
 * A session of a diffserver: following its changes, and writing to it.
 *
 *     val client = DiffClient("https://lists.example.org", "fires", token)
 *     val following = client.follow { update -> println(update.list.rows.map { it.id }) }
 *     following.cancel()
 */
class DiffClient<T>(
    url: String,
    /** The session's name. */
    val session: String,
    /** A fixed key or token. */
    private val token: String? = null,
    /** Returns a fresh token before each request, on a thread that may block; then a 401 is tried again. */
    private val renewing: (() -> String?)? = null,
    val dialect: Dialect = Dialect.KEYED,
    /** The part of the session to follow; null for all of it. */
    val view: RowView? = null,
    /**
     * Whether updates carry only what changed in a content, where that is smaller. Rows have the whole content all the
     * same.
     */
    val receivesPatches: Boolean = true,
    /** How long a write is tried again while answers are lost or the server is not ready. */
    val patienceMillis: Long = 60_000,
    /**
     * Asks about once in so many milliseconds, in place of a stream: for public sessions behind a cache, where the
     * requests of all readers that have the same are one. At most a day.
     */
    val pollMillis: Long? = null,
    internal val transport: Transport = UrlConnectionTransport(),
    /**
     * Decodes the contents of rows, each new one once, on the thread that follows: `{ fires.fromJson(it.toString()) }`.
     * If it throws, following stops.
     */
    val decoder: Decoder<T>
) {
    /** How long a stream may take to begin, and how long it may then be silent. It says something every 15 s. */
    internal var beginMillis = 5_000L
    internal var silenceMillis = 45_000L
    /**
     * How long a stream is quiet before the server is asked whether the session exists: an existing one reports at
     * once.
     */
    internal var quietMillis = 300L
    /** How long a stream or a held request has to bring an edit's changes after the edit is answered. */
    internal var settleMillis = 500L

    private val address = "${url.trimEnd('/')}/v1/sessions/${session.encoded()}/changes"
    internal val renewsToken get() = renewing != null
    private val isAnonymous get() = renewing == null && token == null
    internal val pending = PendingEdits()

    init {
        require(url.startsWith("https://") || url.startsWith("http://")) {
            "no address of a server: $url (it must begin with http:// or https://)"
        }
        require(pollMillis == null || pollMillis in 1L..86_400_000L) { "pollMillis is 1 to 86,400,000, not $pollMillis" }
    }

    /**
     * Follows the session on a separate thread, until it is cancelled or asking again cannot help. Whatever happens on
     * the way, what is shown stays.
     *
     * @param from what is shown already, to continue from; an empty one starts from nothing.
     * @param window which rows to follow; `null` for all of them.
     * @param poll asks by held requests only, not by a stream.
     * @param executor where the callbacks are called, such as the main thread. While one of them runs, nothing else is
     * delivered.
     * @param onPending called whenever other edits wait for the server than before.
     */
    fun follow(
        from: Followed<T> = Followed(), window: RowWindow? = null, poll: Boolean = false,
        executor: Executor = Executor { it.run() }, onStatus: (Status) -> Unit = {}, onPending: (Pending) -> Unit = {},
        onUpdate: (ListUpdate<T>) -> Unit
    ): Following<T> = Following(this, from, window, poll, executor, onStatus, onPending, onUpdate).also { it.start() }

    /**
     * Posts the list's new state, which needs a key. Makes the session if there is none. Blocks, and can be
     * interrupted.
     *
     * @param ifMatch refuses the write (412) unless this is the head.
     * @param shape where the list is in [state], if that is a document of your own.
     * @return the revision that holds it.
     * @throws ProblemException if it is refused, or not answered in time.
     */
    fun post(state: JsonValue, ifMatch: String? = null, shape: RowShape? = null): String {
        val parameters = shape?.parameters.orEmpty()
        return write(if (parameters.isEmpty()) JsonValue.objectOf("state" to state) else state, ifMatch, parameters)
    }

    /**
     * Posts edits, all or none of which are done; a token with the scope `edit` suffices. Followers of this client are
     * shown them at once, and without them again if this throws. Calls are posted one after the other. Otherwise like
     * [post].
     */
    fun edit(vararg edits: Edit, ifMatch: String? = null): String =
        pending.send(edits.toList()) { write(JsonValue.objectOf("edits" to JsonValue.of(edits.toList())), ifMatch) }

    /** All tries carry one key, so that a write whose answer was lost is not done again. */
    private fun write(
        document: JsonValue, ifMatch: String?, parameters: List<Pair<String, String>> = emptyList()
    ): String {
        val headers = mutableMapOf(
            "Content-Type" to "application/json", "Prefer" to "return=minimal",
            "Idempotency-Key" to UUID.randomUUID().toString()
        )
        if (ifMatch != null) headers["If-Match"] = "\"$ifMatch\""
        val body = document.toString().toByteArray()
        val begin = System.nanoTime()
        var failures = 0
        while (true) {
            try {
                val answer = answer { request("POST", parameters, headers, body) }
                return answer["to"]?.string ?: throw Failure(Problem(null, "The answer has no revision"))
            } catch (failure: Failure) {
                val delay = pause(failures++, 1_000, failure.problem.retryAfterMillis)
                val spent = NANOSECONDS.toMillis(System.nanoTime() - begin)
                // There is no session that edits could wait for, or nobody who may write it.
                val isHopeless = failure.isFinal || failure.problem.status.let { it == 404 || it == 401 && isAnonymous }
                if (isHopeless || spent + delay > patienceMillis) {
                    throw ProblemException(failure.problem)
                }
                Thread.sleep(delay)
            }
        }
    }

    private fun answer(request: () -> Request): JsonValue {
        val mailbox = LinkedBlockingQueue<Arrival>()
        val exchange = Exchange(transport, mailbox, request)
        val collected = Collected()
        try {
            while (true) {
                when (val arrival = mailbox.poll(30_000, MILLISECONDS) ?: throw silence()) {
                    is Arrival.Head -> collected.head = arrival.response
                    is Arrival.Bytes -> {
                        exchange.makeRoom()
                        collected.add(arrival.bytes)
                    }
                    is Arrival.End -> return good(collected, arrival).json()
                    else -> Unit
                }
            }
        } finally {
            exchange.cancel()
        }
    }

    /** An answer that arrived whole, and is not a problem. */
    internal fun good(collected: Collected, end: Arrival.End): Collected {
        val head = collected.head
        if (head == null || end.error != null && head.status < 300) throw Failure(connectionProblem(end.error))
        if (head.status in 200..299) return collected
        val problem = Problem.of(head.status, collected.text, retryAfter(head.header("Retry-After")))
        // Without credentials, what is missing is 401 as well.
        val mayPass = problem.isPassing || (renewsToken || isAnonymous) && problem.status == 401
        throw Failure(problem, isFinal = !mayPass)
    }

    internal fun request(
        method: String, query: List<Pair<String, String>>, headers: Map<String, String>, body: ByteArray? = null
    ): Request {
        // In one order, so that a cache can answer all readers.
        val parameters = ((if (body == null) listOf("dialect" to dialect.word) else emptyList()) + query)
            .sortedBy { it.first }
        val secret = if (renewing != null) renewing.invoke() else token
        val authorization = if (secret == null) emptyMap() else mapOf("Authorization" to "Bearer $secret")
        val tail = parameters.joinToString("&") { (name, value) -> "$name=${value.encoded()}" }
        val url = if (tail == "") address else "$address?$tail"
        return Request(method, url, headers + authorization, body, mayBeCached = body == null && pollMillis != null)
    }

    internal fun silence() = Failure(Problem(null, "The server fell silent"), isSilence = true)
}

/** A client whose rows have JSON as contents; the parameters are those of the class. */
fun DiffClient(
    url: String, session: String, token: String? = null, renewing: (() -> String?)? = null,
    dialect: Dialect = Dialect.KEYED, view: RowView? = null, receivesPatches: Boolean = true,
    patienceMillis: Long = 60_000, pollMillis: Long? = null, transport: Transport = UrlConnectionTransport()
): DiffClient<JsonValue> = DiffClient(
    url, session, token, renewing, dialect, view, receivesPatches, patienceMillis, pollMillis, transport
) { it }

/** The activity of a connection. */
sealed class Status {
    /**
     * The list is followed. With `stale`, what is shown may be old: its source, or the server's store, has been silent
     * for so many seconds. It is told again without, once that is over.
     */
    data class Live(val isStream: Boolean, val stale: Int? = null) : Status()

    /**
     * It asks again after the delay; what is shown stays. A session that does not exist is reported once, with the
     * status 404, or 401 without a token; with a delay of 0 an open stream waits for it.
     */
    data class Waiting(val problem: Problem, val delayMillis: Long) : Status()

    /** Asking again cannot help: the token is refused, or the request is wrong. */
    data class Stopped(val problem: Problem) : Status()
}

/** Partly random, so that not all readers return at once. A date far off must not end a client for good. */
internal fun pause(failures: Int, first: Long, least: Long?, chance: Double = Random.nextDouble()): Long {
    val share = 0.5 + chance / 2
    if (least != null) return minOf(least, 86_400_000) + (share * first).toLong()
    return (share * minOf(first shl minOf(failures, 20), 30_000)).toLong()
}

/** `Retry-After` (RFC 9110 §10.2.3) in milliseconds: seconds, or a date; null for anything else, and for past times. */
internal fun retryAfter(text: String?, now: Long = System.currentTimeMillis()): Long? {
    if (text == null) return null
    if (text != "" && text.length < 10 && text.all { it in '0'..'9' }) return text.toLong() * 1_000
    val format = java.text.SimpleDateFormat("EEE, dd MMM yyyy HH:mm:ss 'GMT'", java.util.Locale.US)
    format.timeZone = java.util.TimeZone.getTimeZone("GMT")
    return try { (format.parse(text).time - now).takeIf { it >= 0 } } catch (error: java.text.ParseException) { null }
}

private fun String.encoded() = URLEncoder.encode(this, "UTF-8").replace("+", "%20")
