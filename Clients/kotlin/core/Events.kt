package diffserver

import java.io.ByteArrayOutputStream

private const val LINE_END: Byte = 10

/** Reads server-sent events from pieces that may break anywhere, even inside a character. */
internal class EventReader(private val take: (name: String, data: String) -> Unit) {
    private val line = ByteArrayOutputStream()
    private var event: String? = null
    private var id: String? = null
    private var data: StringBuilder? = null

    /** Whether no event has begun without ending. */
    val isBetweenEvents get() = line.size() == 0 && event == null && id == null && data == null

    fun read(bytes: ByteArray) {
        var begin = 0
        for (at in bytes.indices) {
            if (bytes[at] != LINE_END) continue
            line.write(bytes, begin, at - begin)
            begin = at + 1
            val text = line.toString("UTF-8").removeSuffix("\r")
            line.reset()
            if (text == "") end() else field(text.substringBefore(':'), text.substringAfter(':', "").removePrefix(" "))
        }
        line.write(bytes, begin, bytes.size - begin)
    }

    /** A field of an event; a comment is one without a name. */
    private fun field(name: String, value: String) {
        when (name) {
            "event" -> event = value
            "id" -> id = value
            "data" -> data = data?.append('\n')?.append(value) ?: StringBuilder(value)
            "retry" -> if (value != "" && value.all { it in '0'..'9' }) take("retry", value)
        }
    }

    private fun end() {
        val (event, id, data) = Triple(event, id, data)
        this.event = null
        this.id = null
        this.data = null
        if (data != null) take(event ?: "message", data.toString()) else if (!id.isNullOrEmpty()) take("id", id)
    }
}
