import diffserver.EventReader

fun Suite.eventTests() {
    val text = ": note\r\nretry: 7\n\nevent: changes\nid: 1-a\ndata: {\"é😀\":1,\ndata:  \"b\":2}\n\n" +
        "data\n\nevent:end\ndata:x\r\n\r\nid: 9\n\nretry: x\n\ndata: unfinished"
    val expected = listOf(
        "retry" to "7", "changes" to "{\"é😀\":1,\n \"b\":2}", "message" to "", "end" to "x", "id" to "9"
    )
    test("events: every split of the bytes gives the same") {
        val bytes = text.toByteArray()
        for (first in 0..bytes.size) {
            for (second in setOf(first, minOf(first + 1, bytes.size), bytes.size)) {
                val found = ArrayList<Pair<String, String>>()
                val events = EventReader { name, data -> found.add(name to data) }
                events.read(bytes.copyOfRange(0, first))
                events.read(bytes.copyOfRange(first, second))
                events.read(bytes.copyOfRange(second, bytes.size))
                same(found, expected, "split at $first and $second")
            }
        }
    }
}
