// docs/vectors.json: the server's answers, and their results.

import diffserver.Followed
import diffserver.JsonValue
import diffserver.Outcome
import diffserver.take
import diffserver.withoutUnseen
import java.io.File

fun Suite.vectorTests() {
    val file = JsonValue.parse(File(System.getenv("VECTORS")).readText())
    for (dialect in listOf("keyed", "sequential")) {
        test("vectors of $dialect") {
            fun shown(state: JsonValue) = rowList(state).let { if (dialect == "keyed") it else it.withoutUnseen() }
            var (applied, patches, windows) = Triple(0, 0, 0)
            for (vector in file["vectors"]!!.array!!.filter { it["dialect"]!!.string == dialect }) {
                val name = vector["name"]!!.string
                val answer = vector["answer"]!!
                val before = vector["before"]!!.takeIf { it !== JsonValue.Null }?.let { shown(it) }
                val held = if (before == null) Followed() else Followed(before, answer["from"]?.string ?: "1-0")
                val outcome = held.take(answer, plain)
                val found = (outcome as? Outcome.Updated)?.update?.followed ?: held
                same(found.list, shown(vector["after"]!!), "$dialect: $name")
                same(found.revision, answer["to"]!!.string, name)
                same(found.window?.above, answer["window"]?.get("above")?.int, name)
                applied += 1
                if (vector["content"]!!.string == "patch") patches += 1
                if (vector["window"] != null) windows += 1
            }
            holds(applied >= 40 && patches >= 1 && windows >= 1, "vectors of $dialect: $applied, $patches, $windows")
        }
    }
}
