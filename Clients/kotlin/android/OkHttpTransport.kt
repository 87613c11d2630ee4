package diffserver

import java.util.concurrent.TimeUnit
import okhttp3.OkHttpClient
import okhttp3.RequestBody.Companion.toRequestBody

/** Sends requests with the app's own OkHttp (4 or 5), with its connections, interceptors and certificates. */
class OkHttpTransport(client: OkHttpClient) : Transport {
    // A stream may be silent for longer than any limit that suits other requests; the client watches it itself.
    private val client = client.newBuilder().readTimeout(0, TimeUnit.SECONDS).callTimeout(0, TimeUnit.SECONDS).build()

    override fun call(request: Request): Call {
        val builder = okhttp3.Request.Builder().url(request.url).method(request.method, request.body?.toRequestBody())
        for ((name, value) in request.headers) builder.header(name, value)
        return OkHttpCall(client.newCall(builder.build()))
    }
}

private class OkHttpCall(private val call: okhttp3.Call) : Call {
    override fun execute(): Response {
        val response = call.execute()
        return Response(response.code, { response.header(it) }, response.body!!.byteStream())
    }

    override fun cancel() = call.cancel()
}
