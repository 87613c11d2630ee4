// For programs on a desktop's or server's JVM, 11 or later: a cancelled stream ends at once. Not for Android.

package diffserver

import java.io.IOException
import java.io.InputStream
import java.net.URI
import java.net.http.HttpClient
import java.net.http.HttpRequest
import java.net.http.HttpRequest.BodyPublishers
import java.net.http.HttpResponse
import java.util.concurrent.CancellationException
import java.util.concurrent.CompletableFuture
import java.util.concurrent.ExecutionException

/** Sends requests with java.net.http. */
class HttpClientTransport(
    private val client: HttpClient = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build()
) : Transport {
    override fun call(request: Request): Call {
        val body = request.body?.let { BodyPublishers.ofByteArray(it) } ?: BodyPublishers.noBody()
        val builder = HttpRequest.newBuilder(URI(request.url)).method(request.method, body)
        for ((name, value) in request.headers) builder.header(name, value)
        return HttpClientCall(client, builder.build())
    }
}

private class HttpClientCall(private val client: HttpClient, private val request: HttpRequest) : Call {
    @Volatile private var isCancelled = false
    @Volatile private var future: CompletableFuture<HttpResponse<InputStream>>? = null
    @Volatile private var body: InputStream? = null

    override fun execute(): Response {
        val future = client.sendAsync(request, HttpResponse.BodyHandlers.ofInputStream())
        this.future = future
        if (isCancelled) future.cancel(true)
        val response = try {
            future.get()
        } catch (error: ExecutionException) {
            throw error.cause as? IOException ?: IOException(error.cause)
        } catch (error: CancellationException) {
            throw IOException("cancelled", error)
        }
        body = response.body()
        if (isCancelled) response.body().close()
        return Response(response.statusCode(), { response.headers().firstValue(it).orElse(null) }, response.body())
    }

    override fun cancel() {
        isCancelled = true
        future?.cancel(true)
        body?.close()
    }
}
