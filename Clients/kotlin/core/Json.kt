// JSON as the protocol needs it: numbers keep their text, a repeated name is refused, and nothing is coerced. org.json
// exists only on Android, and turns numbers into doubles; kotlinx.serialization needs a compiler plugin. So this is all
// of it, in one file and without a dependency.

package diffserver

import java.util.UUID

/** Something written as JSON. */
interface HasJson {
    val json: JsonValue
}

/** A JSON value. Compared like the server does: objects regardless of order, numbers by their text. */
sealed class JsonValue {
    data class Object(val members: Map<String, JsonValue>) : JsonValue() {
        override fun toString() = text()
    }

    data class Array(val elements: List<JsonValue>) : JsonValue() {
        override fun toString() = text()
    }

    data class Text(val value: String) : JsonValue() {
        override fun toString() = text()
    }

    /** A number, as it was written. */
    data class Number(val token: String) : JsonValue() {
        override fun toString() = token
    }

    data class Flag(val value: Boolean) : JsonValue() {
        override fun toString() = value.toString()
    }

    object Null : JsonValue() {
        override fun toString() = "null"
    }

    /** A member of an object; null if there is none, or this is not an object. */
    operator fun get(name: String): JsonValue? = (this as? Object)?.members?.get(name)

    /** An element of an array; null if there is none, or this is not an array. */
    operator fun get(index: Int): JsonValue? = (this as? Array)?.elements?.getOrNull(index)

    val string: String? get() = (this as? Text)?.value
    val boolean: Boolean? get() = (this as? Flag)?.value
    val int: Int? get() = (this as? Number)?.token?.toIntOrNull()
    val long: Long? get() = (this as? Number)?.token?.toLongOrNull()
    val double: Double? get() = (this as? Number)?.token?.toDoubleOrNull()
    val array: List<JsonValue>? get() = (this as? Array)?.elements

    /** This value after a merge patch (RFC 7396). */
    fun merging(patch: JsonValue): JsonValue {
        if (patch !is Object) return patch
        val merged = LinkedHashMap((this as? Object)?.members ?: emptyMap())
        for ((name, change) in patch.members) {
            if (change === Null) merged.remove(name) else merged[name] = (merged[name] ?: Null).merging(change)
        }
        return Object(merged)
    }

    internal fun text(): String = StringBuilder().also { write(it) }.toString()

    private fun write(to: StringBuilder) {
        when (this) {
            is Object -> {
                var separator = "{"
                for ((name, value) in members) {
                    to.append(separator)
                    quote(name, to)
                    to.append(':')
                    value.write(to)
                    separator = ","
                }
                to.append(if (members.isEmpty()) "{}" else "}")
            }
            is Array -> {
                var separator = "["
                for (value in elements) {
                    to.append(separator)
                    value.write(to)
                    separator = ","
                }
                to.append(if (elements.isEmpty()) "[]" else "]")
            }
            is Text -> quote(value, to)
            is Number -> to.append(token)
            is Flag -> to.append(value)
            Null -> to.append("null")
        }
    }

    companion object {
        /**
         * Reads a text.
         *
         * @throws Misfit if it is not JSON (RFC 8259), names a member twice, or is deeper than 256.
         */
        fun parse(text: String): JsonValue = JsonReader(text).whole()

        /** A value from maps with names, lists, strings, numbers, booleans, UUIDs, nulls, and what has JSON. */
        fun of(value: Any?): JsonValue = when (value) {
            null -> Null
            is JsonValue -> value
            is HasJson -> value.json
            is CharSequence, is UUID -> Text(value.toString())
            is Boolean -> Flag(value)
            is Double, is Float -> {
                val number = (value as kotlin.Number).toDouble()
                require(!number.isNaN() && !number.isInfinite()) { "JSON has no $number" }
                Number(value.toString())
            }
            is kotlin.Number -> Number(value.toString())
            is Map<*, *> -> Object(value.entries.associate { (name, each) -> name as String to of(each) })
            is Iterable<*> -> Array(value.map { of(it) })
            else -> throw IllegalArgumentException("no JSON value: ${value.javaClass}; encode it, and parse that")
        }

        /** An object of these members. */
        fun objectOf(vararg members: Pair<String, Any?>): JsonValue = of(members.toMap())

        private fun quote(text: String, to: StringBuilder) {
            to.append('"')
            for (char in text) {
                when {
                    char == '"' || char == '\\' -> to.append('\\').append(char)
                    char < ' ' || char == '\u2028' || char == '\u2029' ->
                        to.append("\\u").append((0x10000 + (char - '\u0000')).toString(16).substring(1))
                    else -> to.append(char)
                }
            }
            to.append('"')
        }
    }
}

/**
 * With what stands at a JSON Pointer (RFC 6901) changed; objects that are missing on the way are made.
 *
 * @throws Misfit if nothing can be there: below a scalar, or behind the end of an array.
 */
internal fun JsonValue?.changing(pointer: String, change: (JsonValue?) -> JsonValue): JsonValue {
    if (pointer != "" && pointer[0] != '/') throw Misfit("no pointer: $pointer")
    return changing(pointer.split('/').drop(1).map { it.replace("~1", "/").replace("~0", "~") }, change)
}

private fun JsonValue?.changing(path: List<String>, change: (JsonValue?) -> JsonValue): JsonValue {
    if (path.isEmpty()) return change(this)
    val (name, rest) = path[0] to path.drop(1)
    if (this is JsonValue.Array) {
        val at = name.toIntOrNull()?.takeIf { "$it" == name && it in elements.indices }
            ?: throw Misfit("there is no element $name")
        return JsonValue.Array(elements.toMutableList().also { it[at] = it[at].changing(rest, change) })
    }
    if (this != null && this !is JsonValue.Object) throw Misfit("nothing is below a scalar")
    val members = (this as? JsonValue.Object)?.members.orEmpty()
    return JsonValue.Object(members + (name to members[name].changing(rest, change)))
}

/** With texts put behind the strings at JSON Pointers; a missing one is empty. */
internal fun JsonValue?.appending(texts: JsonValue): JsonValue? {
    val each = (texts as? JsonValue.Object ?: throw Misfit("append is an object")).members.entries
    return each.fold(this) { value, (pointer, text) ->
        value.changing(pointer) { old ->
            if (old != null && old !is JsonValue.Text) throw Misfit("no text at $pointer")
            JsonValue.Text(old?.string.orEmpty() + (text.string ?: throw Misfit("no text for $pointer")))
        }
    }
}

/** An object of the members that are not null. */
internal fun objectOfPresent(vararg members: Pair<String, Any?>) =
    JsonValue.of(members.toMap().filterValues { it != null })

/** Something that breaks the protocol: no JSON, no answer, or changes that do not fit these rows. */
class Misfit(message: String) : Exception(message)

/** The decoder threw for a row's content. */
class UnreadableContent(id: String, cause: Exception) : Exception("row \"$id\": $cause", cause)

/** Reads one value. Every step either advances or throws. */
private class JsonReader(private val text: String) {
    private var at = 0

    fun whole(): JsonValue {
        val value = value(0)
        space()
        if (at < text.length) wrong("the end")
        return value
    }

    private fun value(depth: Int): JsonValue {
        if (depth > 256) wrong("less depth")
        space()
        return when (peek()) {
            '{' -> obj(depth)
            '[' -> array(depth)
            '"' -> JsonValue.Text(string())
            't' -> word("true", JsonValue.Flag(true))
            'f' -> word("false", JsonValue.Flag(false))
            'n' -> word("null", JsonValue.Null)
            else -> number()
        }
    }

    private fun obj(depth: Int): JsonValue {
        val members = LinkedHashMap<String, JsonValue>()
        at += 1
        if (skips('}')) return JsonValue.Object(members)
        do {
            space()
            if (peek() != '"') wrong("a name")
            val name = string()
            if (!skips(':')) wrong("a colon")
            if (members.put(name, value(depth + 1)) != null) wrong("a name that is new; \"$name\" was there")
        } while (skips(','))
        if (!skips('}')) wrong("a comma or a brace")
        return JsonValue.Object(members)
    }

    private fun array(depth: Int): JsonValue {
        val elements = ArrayList<JsonValue>()
        at += 1
        if (skips(']')) return JsonValue.Array(elements)
        do elements.add(value(depth + 1)) while (skips(','))
        if (!skips(']')) wrong("a comma or a bracket")
        return JsonValue.Array(elements)
    }

    private fun string(): String {
        at += 1
        val begin = at
        while (peek() >= ' ' && peek() != '"' && peek() != '\\') at += 1
        if (peek() == '"') return checked(text.substring(begin, at++))
        val built = StringBuilder(text.substring(begin, at))
        while (true) {
            val char = peek()
            if (char < ' ') wrong("no control character")
            at += 1
            if (char == '"') return checked(built.toString())
            built.append(if (char == '\\') escaped() else char)
        }
    }

    private fun escaped(): Char {
        val char = peek()
        at += 1
        return when (char) {
            '"', '\\', '/' -> char
            'b' -> '\b'
            'f' -> '\u000c'
            'n' -> '\n'
            'r' -> '\r'
            't' -> '\t'
            'u' -> {
                var code = 0
                repeat(4) {
                    val digit = Character.digit(peek(), 16)
                    if (digit < 0 || peek() > 'f') wrong("a hexadecimal digit")
                    code = code * 16 + digit
                    at += 1
                }
                '\u0000' + code
            }
            else -> wrong("an escape")
        }
    }

    /** Half of a surrogate pair is not a character. */
    private fun checked(string: String): String {
        var place = 0
        while (place < string.length) {
            val isPair = string[place].isHighSurrogate() && string.getOrNull(place + 1)?.isLowSurrogate() == true
            if (string[place].isSurrogate() && !isPair) wrong("no lone surrogate")
            place += if (isPair) 2 else 1
        }
        return string
    }

    private fun number(): JsonValue {
        val begin = at
        if (peek() == '-') at += 1
        if (peek() == '0') at += 1 else digits()
        if (peek() == '.') {
            at += 1
            digits()
        }
        if (peek() == 'e' || peek() == 'E') {
            at += 1
            if (peek() == '+' || peek() == '-') at += 1
            digits()
        }
        return JsonValue.Number(text.substring(begin, at))
    }

    private fun digits() {
        if (peek() !in '0'..'9') wrong("a value")
        while (peek() in '0'..'9') at += 1
    }

    private fun word(word: String, value: JsonValue): JsonValue {
        if (!text.startsWith(word, at)) wrong("a value")
        at += word.length
        return value
    }

    private fun skips(char: Char): Boolean {
        space()
        if (peek() != char) return false
        at += 1
        return true
    }

    private fun space() {
        while (peek() == ' ' || peek() == '\n' || peek() == '\r' || peek() == '\t') at += 1
    }

    /** U+0000 at the end, which JSON never contains. */
    private fun peek(): Char = if (at < text.length) text[at] else '\u0000'

    private fun wrong(expected: String): Nothing = throw Misfit("no JSON: $expected is expected at $at")
}
