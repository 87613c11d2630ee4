// How requests reach the server. An app with OkHttp uses OkHttpTransport.kt, a program on the JVM
// HttpClientTransport.kt; UrlConnectionTransport needs nothing but java.net, which Android has as well.

package diffserver

import java.io.IOException
import java.io.InputStream
import java.net.HttpURLConnection
import java.net.URL
import kotlin.concurrent.thread

/** A request for any HTTP library. */
class Request(
    val method: String, val url: String, val headers: Map<String, String>, val body: ByteArray? = null,
    /** Whether a cache on the way may answer it: then no header is added that forbids this. */
    val mayBeCached: Boolean = false
)

/** The head of an answer, and its body as it arrives. */
class Response(val status: Int, val header: (String) -> String?, val body: InputStream)

/** Sends requests. It sets no time limits: the caller cancels the call. */
interface Transport {
    fun call(request: Request): Call
}

/** One request. */
interface Call {
    /**
     * Blocks until the head of the answer arrives.
     *
     * @throws IOException if none comes, or the call was cancelled.
     */
    fun execute(): Response

    /** Ends the call, and whatever blocks in it or its body. Does not block, and may be called on any thread. */
    fun cancel()
}

/**
 * Sends requests with HttpURLConnection. On Android a cancelled call ends at once. On a desktop's JVM a stream ends
 * with its next sign of life, since its body cannot be closed while somebody reads it; a held request ends at once
 * there, too.
 */
class UrlConnectionTransport : Transport {
    override fun call(request: Request): Call = UrlConnectionCall(request)
}

private class UrlConnectionCall(private val request: Request) : Call {
    private val connection = URL(request.url).openConnection() as HttpURLConnection

    override fun execute(): Response {
        connection.requestMethod = request.method
        connection.useCaches = request.mayBeCached
        connection.instanceFollowRedirects = false
        for ((name, value) in request.headers) connection.setRequestProperty(name, value)
        request.body?.let { body ->
            connection.doOutput = true
            connection.outputStream.use { it.write(body) }
        }
        val status = connection.responseCode
        val body = if (status < 400) connection.inputStream else connection.errorStream
        return Response(status, { connection.getHeaderField(it) }, body ?: ByteArray(0).inputStream())
    }

    /** On a separate thread: Android forbids its main thread to touch sockets, and a desktop's JVM waits. */
    override fun cancel() {
        thread(isDaemon = true, name = "diffserver cancel") { connection.disconnect() }
    }
}
