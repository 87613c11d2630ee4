package diffserver

import java.io.ByteArrayOutputStream
import java.io.IOException
import java.util.concurrent.BlockingQueue
import java.util.concurrent.Semaphore
import java.util.concurrent.atomic.AtomicBoolean
import kotlin.concurrent.thread

/** Something that arrives for a waiting thread; the same mailbox may also get other things. */
internal sealed class Arrival(val from: Exchange? = null) {
    class Head(from: Exchange, val response: Response) : Arrival(from)
    class Bytes(from: Exchange, val bytes: ByteArray) : Arrival(from)

    /** The end of the answer; with an error, it broke off. */
    class End(from: Exchange, val error: Throwable?) : Arrival(from)
    object Cancelled : Arrival()
    object WindowMoved : Arrival()
    object Woken : Arrival()
    object Edited : Arrival()
}

/**
 * A request on a separate thread, which puts what arrives into a mailbox. So its owner is never held by the network,
 * however long a read blocks: it waits for its mailbox, which may bring other things as well.
 */
internal class Exchange(
    private val transport: Transport, private val mailbox: BlockingQueue<Arrival>, private val request: () -> Request
) {
    /** Pieces that the mailbox may still hold: a slow reader is sent to slowly. */
    private val room = Semaphore(16)
    private val isCancelled = AtomicBoolean()
    @Volatile private var call: Call? = null

    init {
        thread(isDaemon = true, name = "diffserver exchange") { run() }
    }

    /** A piece was taken from the mailbox. */
    fun makeRoom() = room.release()

    /** Discards the rest. */
    fun cancel() {
        if (!isCancelled.compareAndSet(false, true)) return
        room.release(1_000)
        call?.cancel()
    }

    private fun run() {
        try {
            val call = transport.call(request())
            this.call = call
            if (isCancelled.get()) return call.cancel()
            val response = call.execute()
            mailbox.put(Arrival.Head(this, response))
            response.body.use { body ->
                val buffer = ByteArray(16_384)
                while (!isCancelled.get()) {
                    val count = body.read(buffer)
                    if (count < 0) break
                    room.acquire()
                    mailbox.put(Arrival.Bytes(this, buffer.copyOf(count)))
                }
            }
            mailbox.put(Arrival.End(this, null))
        } catch (error: Exception) {
            mailbox.put(Arrival.End(this, error))
        }
    }
}

/** A failure, whether asking again may help, and when. */
internal class Failure(
    val problem: Problem, val isFinal: Boolean = false, val isStale: Boolean = false, val isSilence: Boolean = false
) : Exception(problem.title)

/** An answer whose body is collected. */
internal class Collected {
    private val body = ByteArrayOutputStream()
    var head: Response? = null

    fun add(bytes: ByteArray) = body.write(bytes, 0, bytes.size)

    val text: String get() = body.toString("UTF-8")

    /** The JSON of a good answer. A proxy, or a portal that wants a login first, answers 200 as well. */
    fun json(): JsonValue {
        val type = head?.header?.invoke("Content-Type").orEmpty()
        if (!type.startsWith("application/") || "json" !in type) {
            throw Failure(Problem(null, "Not the server's answer", "$type instead of JSON"))
        }
        return try {
            JsonValue.parse(text)
        } catch (misfit: Misfit) {
            throw Failure(Problem(null, "An answer broke off", misfit.message))
        }
    }
}

internal fun connectionProblem(error: Throwable?) =
    Problem(null, if (error == null) "The stream broke off" else "No connection", error?.toString())
