import diffserver.JsonValue
import diffserver.Misfit
import diffserver.pause
import diffserver.retryAfter

fun Suite.jsonTests() {
    test("JSON is read as it was written") {
        val texts = listOf(
            "{}", "[]", "null", "[true,false]", "0", "-0", "1e999999", "12345678901234567890.10", "\"\"",
            """{"b":[1,{"a":null}],"a":"\"\\\n\u0001\u2028é😀"}""".replace("\\n", "\\u000a")
        )
        for (text in texts) same(JsonValue.parse(" $text\n").toString(), text)
        same(JsonValue.parse(""""\ud83d\ude00\/\b\f\n\r\t"""").string, "😀/\b\u000c\n\r\t")
    }
    test("what is no JSON is refused") {
        val texts = listOf(
            "", "{", "[1,]", "{\"a\":1,}", "{\"a\":1,\"a\":2}", "{\"a\":1,\"\\u0061\":2}", "01", "1.", ".5", "+1", "1e",
            "-", "NaN", "tru", "\"\n\"", "\"\\x\"", "\"\\u12g4\"", "\"\\ud83d\"", "\"\\ude00x\"", "\"",
            "[1 2]", "{1:2}", "'a'", "1 1", "nullx", "\u00a01", "[".repeat(300) + "]".repeat(300)
        )
        for (text in texts) throws<Misfit>(text) { JsonValue.parse(text) }
    }
    test("values compare as JSON does") {
        same(JsonValue.parse("""{"a":1,"b":2}"""), JsonValue.parse("""{ "b" : 2, "\u0061":1 }"""))
        holds(JsonValue.parse("1") != JsonValue.parse("1.0"), "numbers are their text")
        same(JsonValue.objectOf("a" to listOf(1, 2.5, "x", null, true)).toString(), """{"a":[1,2.5,"x",null,true]}""")
        val value = JsonValue.parse("""{"a":[{"b":"c"},7,true]}""")
        same(value["a"]!![0]!!["b"]!!.string, "c")
        val found = listOf(value["a"]!![1]!!.int, value["a"]!![2]!!.boolean, value["x"], value[0])
        same(found, listOf<Any?>(7, true, null, null))
    }
    test("merge patches, by the examples of RFC 7396") {
        val rows = listOf(
            """{"a":"b"}|{"a":"c"}|{"a":"c"}""", """{"a":"b"}|{"b":"c"}|{"a":"b","b":"c"}""",
            """{"a":"b"}|{"a":null}|{}""",
            """{"a":"b","b":"c"}|{"a":null}|{"b":"c"}""", """{"a":["b"]}|{"a":"c"}|{"a":"c"}""",
            """{"a":{"b":"c"}}|{"a":{"b":"d","c":null}}|{"a":{"b":"d"}}""", """["a","b"]|["c","d"]|["c","d"]""",
            """{"a":"foo"}|null|null""", """{"e":null}|{"a":1}|{"e":null,"a":1}""",
            """[1,2]|{"a":"b","c":null}|{"a":"b"}""",
            """{}|{"a":{"bb":{"ccc":null}}}|{"a":{"bb":{}}}"""
        )
        for (row in rows) {
            val (old, patch, new) = row.split("|").map { JsonValue.parse(it) }
            same(old.merging(patch), new, row)
        }
    }
    test("Retry-After is seconds or a date, and pauses have chance in them") {
        same(retryAfter("7"), 7_000L)
        same(retryAfter("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_775_000), 2_000L)
        val others = listOf(null, "", "-1", "soon", "99999999999", "Sun, 06 Nov 1994 08:49:37 GMT")
        for (text in others) same(retryAfter(text), null, text)
        val pauses = (0..6).map { pause(it, 1_000, null, 1.0) / 1_000 }
        same(pauses, listOf<Long>(1, 2, 4, 8, 16, 30, 30))
        same(pause(99, 1_000, null, 0.0), 15_000L)
        same(pause(0, 1_000, 5_000, 0.0), 5_500L)
        same(pause(0, 1_000, Long.MAX_VALUE, 1.0), 86_401_000L)
    }
}
