// Stand-ins for OkHttp 4, for the compiler only.

package okhttp3

import java.io.InputStream
import java.util.concurrent.TimeUnit

class OkHttpClient {
    class Builder {
        fun readTimeout(timeout: Long, unit: TimeUnit): Builder = throw NotImplementedError()
        fun callTimeout(timeout: Long, unit: TimeUnit): Builder = throw NotImplementedError()
        fun build(): OkHttpClient = throw NotImplementedError()
    }

    fun newBuilder(): Builder = throw NotImplementedError()
    fun newCall(request: Request): Call = throw NotImplementedError()
}

class Request {
    class Builder {
        fun url(url: String): Builder = throw NotImplementedError()
        fun method(method: String, body: RequestBody?): Builder = throw NotImplementedError()
        fun header(name: String, value: String): Builder = throw NotImplementedError()
        fun build(): Request = throw NotImplementedError()
    }
}

class MediaType

class RequestBody {
    companion object {
        fun ByteArray.toRequestBody(
            contentType: MediaType? = null, offset: Int = 0, byteCount: Int = size
        ): RequestBody = throw NotImplementedError()
    }
}

interface Call {
    fun execute(): Response
    fun cancel()
}

class Response(val code: Int, val body: ResponseBody?) {
    fun header(name: String, defaultValue: String? = null): String? = throw NotImplementedError()
}

class ResponseBody {
    fun byteStream(): InputStream = throw NotImplementedError()
}
