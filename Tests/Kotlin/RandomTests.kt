// Random changes from the real server, applied to rows and to what RecyclerView draws.

import diffserver.Change
import diffserver.Dialect
import diffserver.Followed
import diffserver.JsonValue
import diffserver.ListUpdate
import diffserver.Misfit
import diffserver.Outcome
import diffserver.Splice
import diffserver.applyingKeyed
import diffserver.applyingSequential
import diffserver.change
import diffserver.redraws
import diffserver.take
import diffserver.withoutUnseen
import kotlin.random.Random

private fun Followed<JsonValue>.updated(answer: JsonValue): ListUpdate<JsonValue>? =
    (take(answer, plain) as? Outcome.Updated)?.update

private inline fun <reified Kind : Splice> List<Splice>.entries(): Int = filterIsInstance<Kind>().sumBy {
    when (it) {
        is Splice.Removed -> it.count
        is Splice.Inserted -> it.count
        is Splice.Changed -> it.count
        else -> 1
    }
}

fun Suite.randomTests() {
    for (query in listOf("dialect=keyed", "dialect=keyed&content=patch")) {
        test("random changes by $query lead to the server's rows") {
            val random = Random(query.length)
            val session = newSession()
            var followed = Followed<JsonValue>()
            var (changed, patched) = 0 to 0
            var state = random.state()
            repeat(200) {
                state = if (random.nextBoolean()) random.touched(state) else random.state()
                post(session, state)
                val since = followed.revision?.let { "&since=$it" } ?: ""
                val answer = request("GET", "sessions/$session/changes?$query$since")
                if ("\"patch\"" in answer.toString()) patched += 1
                val update = followed.updated(answer) ?: return@repeat
                if (update.change is Change.Keyed) changed += 1
                followed = update.followed
                same(followed.list, rowsOf(session), answer)
            }
            holds(changed > 120, "$changed changesets")
            holds("patch" !in query || patched > 5, "$patched patches")
        }
    }
    test("random changes by splices are drawn by RecyclerView as the server's rows, and no others are shorter") {
        val random = Random(4)
        val session = newSession()
        val adapter = PlainAdapter()
        val screen = Screen(adapter)
        var followed = Followed<JsonValue>()
        var told = 0
        var state = random.state()
        repeat(300) {
            state = if (random.nextBoolean()) random.touched(state) else random.state()
            post(session, state)
            val since = followed.revision?.let { "&since=$it" } ?: ""
            val answer = request("GET", "sessions/$session/changes?dialect=sequential&content=patch$since")
            val update = followed.updated(answer) ?: return@repeat
            followed = update.followed
            same(followed.list, rowsOf(session).withoutUnseen(), answer)
            adapter.show(update)
            // RecyclerView lays out when it gets to it.
            if (random.nextBoolean()) screen.layOut()
            val splices = (update.change as? Change.Sequential)?.splices ?: return@repeat
            told += splices.size
            val own = update.before.change(update.list, Dialect.SEQUENTIAL, update.redraws()) as Change.Sequential
            same(own.splices.entries<Splice.Removed>(), splices.entries<Splice.Removed>(), "$answer ${own.splices}")
            same(own.splices.entries<Splice.Inserted>(), splices.entries<Splice.Inserted>(), "$answer ${own.splices}")
            same(own.splices.entries<Splice.Moved>(), splices.entries<Splice.Moved>(), "$answer ${own.splices}")
        }
        screen.layOut()
        same(screen.told, told, "one notification for each splice")
        holds(told > 300 && screen.moves > 50 && screen.rebound > 20, "$told, ${screen.moves}, ${screen.rebound}")
    }
    test("an update that leads on from elsewhere is drawn anew") {
        val adapter = PlainAdapter()
        val screen = Screen(adapter)
        val session = newSession()
        post(session, listOf("a", "b", "c"))
        val first = Followed<JsonValue>().updated(request("GET", "sessions/$session/changes?dialect=sequential"))!!
        post(session, listOf("c", "a", "d"))
        val second = first.followed.updated(
            request("GET", "sessions/$session/changes?dialect=sequential&since=${first.followed.revision}"))!!
        adapter.show(second)
        screen.layOut()
        same(adapter.entries.size, 3)
    }
    test("changes that do not fit are refused, and the rows stay") {
        val rows = """[{"id":"a"},{"id":"b","content":1}]"""
        val list = rowList(JsonValue.parse("""{"sections":[{"id":"s","items":$rows},{"id":"t","items":[]}]}"""))
        val keyed = listOf(
            """{"op":"remove","items":["q"]}""", """{"op":"insert","items":[{"id":"a"}],"in":"s","before":null}""",
            """{"op":"insert","items":[{"id":"x"}],"in":"q","before":null}""",
            """{"op":"move","item":"a","in":"t","before":"b"}""",
            """{"op":"insert","items":[{"id":"x"}],"in":"s"}""", """{"op":"move","item":"a","in":"s","before":"a"}""",
            """{"op":"update","items":[{"id":"a","patch":{}}],"as":"reload"}""",
            """{"op":"update","items":[{"id":"a"}]}""",
            """{"op":"update","items":[{"id":"a","new":1}],"as":"reload"}""", """{"op":"paint","items":["a"]}""",
            """{"op":"insert","section":{"id":"s","items":[]},"before":null}""", """{"op":"remove","section":"q"}""",
            """{"op":"insert","section":{"id":"u","items":[{"id":"a"}]},"before":null}""",
            """{"op":"move","section":"s","before":"s"}"""
        )
        for (operation in keyed) {
            throws<Misfit>(operation) { list.applyingKeyed(JsonValue.parse("[$operation]"), plain) }
        }
        // On the header of s, its rows a and b, and c of a section without a header.
        val headed = """{"sections":[{"id":"s","content":1,"items":$rows},{"id":"t","items":[{"id":"c"}]}]}"""
        val flat = rowList(JsonValue.parse(headed))
        for (splice in listOf(
            """{"op":"remove","at":3,"count":2}""", """{"op":"remove","at":-1,"count":1}""",
            """{"op":"remove","at":0,"count":0}""", """{"op":"remove","at":2147483647,"count":1}""",
            """{"op":"insert","at":5,"rows":[{"item":{"id":"x"},"in":"t"}]}""",
            """{"op":"insert","at":4,"rows":[{"item":{"id":"a"},"in":"t"}]}""",
            """{"op":"insert","at":4,"rows":[{"item":{"id":"x"},"in":"s"}]}""",
            """{"op":"insert","at":4,"rows":[{"item":{"id":"x"}}]}""",
            """{"op":"insert","at":4,"rows":[{"section":{"id":"u"}}]}""",
            """{"op":"insert","at":4,"rows":[{"section":{"id":"t","content":1}}]}""",
            """{"op":"move","from":4,"to":0}""", """{"op":"move","from":0,"to":4}""",
            """{"op":"move","from":0,"to":1,"in":"t"}""", """{"op":"move","from":1,"to":3}""",
            """{"op":"update","at":1,"rows":[{"item":{"id":"b"},"in":"s"}],"as":"reload"}""",
            """{"op":"update","at":0,"rows":[{"item":{"id":"a"},"in":"s"}],"as":"reload"}""",
            """{"op":"update","at":1,"rows":[{"section":{"id":"s","content":2}}],"as":"reload"}""",
            """{"op":"update","at":1,"rows":[{"item":{"id":"a","patch":{}},"in":"s"}],"as":"reload"}""",
            """{"op":"update","at":1,"rows":[{"item":{"id":"a"},"in":"s"}]}""",
            """{"op":"update","at":1,"rows":[],"as":"reload"}""", """{"op":"paint","at":1}""")) {
            throws<Misfit>(splice) { flat.applyingSequential(JsonValue.parse("[$splice]"), plain) }
        }
        val odd = """{"from":"1-a","to":"2-b","dialect":"odd","changes":[]}"""
        for (answer in listOf("{}", """{"to":"1-a","reset":"initial"}""", odd)) {
            throws<Misfit>(answer) { Followed(list, "1-a").take(JsonValue.parse(answer), plain) }
        }
    }
    test("what a changeset leaves alone stays the same object") {
        val (one, other) = """{"id":"s","items":[{"id":"a"},{"id":"b"}]}""" to """{"id":"t","items":[{"id":"c"}]}"""
        val list = rowList(JsonValue.parse("""{"sections":[$one,$other]}"""))
        val after = list.applyingKeyed(JsonValue.parse("""[{"op":"move","item":"b","in":"s","before":"a"}]"""), plain)
        holds(after.sections[1] === list.sections[1], "a section")
        holds(after.sections[0].rows[0] === list.sections[0].rows[1], "a row")
        val flat = list.applyingSequential(JsonValue.parse("""[{"op":"move","from":1,"to":0}]"""), plain).first
        holds(flat.sections[1] === list.sections[1], "a section")
        holds(flat.sections[0].rows[0] === list.sections[0].rows[1], "a row")
    }
}
