// How requests reach the server. An app that has OkHttp takes OkHttpTransport.kt, a program on the JVM
// HttpClientTransport.kt; UrlConnectionTransport needs nothing but java.net, which Android has as well.

package diffserver

import java.io.IOException
import java.io.InputStream
import java.net.HttpURLConnection
import java.net.URL
import kotlin.concurrent.thread

/** A request, as any HTTP library takes it. */
class Request(val method: String, val url: String, val headers: Map<String, String>, val body: ByteArray? = null)

/** The head of an answer, and its body as it comes in. */
class Response(val status: Int, val header: (String) -> String?, val body: InputStream)

/** Carries requests. It sets no limits of time: whoever asks gives the call up. */
interface Transport {
    fun call(request: Request): Call
}

/** One request. */
interface Call {
    /**
     * Blocks until the head of the answer is there.
     *
     * @throws IOException if none comes, or the call was cancelled.
     */
    fun execute(): Response

    /** Ends the call, and whatever blocks in it or its body. It does not block, and may come from any thread. */
    fun cancel()
}

/**
 * Carries requests by HttpURLConnection. On Android a call ends at once when it is cancelled. On a desktop's JVM a
 * stream ends with its next sign of life, since the body there cannot be closed while somebody reads; a held request
 * ends at once there, too.
 */
class UrlConnectionTransport : Transport {
    override fun call(request: Request): Call = UrlConnectionCall(request)
}

private class UrlConnectionCall(private val request: Request) : Call {
    private val connection = URL(request.url).openConnection() as HttpURLConnection

    override fun execute(): Response {
        connection.requestMethod = request.method
        connection.useCaches = false
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

    /** On a thread of its own: Android forbids its main thread to touch sockets, and a desktop's JVM waits. */
    override fun cancel() {
        thread(isDaemon = true, name = "diffserver cancel") { connection.disconnect() }
    }
}
