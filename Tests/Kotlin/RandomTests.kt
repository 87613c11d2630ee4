// Random changes from the real server, applied to rows and to what RecyclerView draws.

import diffserver.Change
import diffserver.Followed
import diffserver.JsonValue
import diffserver.ListUpdate
import diffserver.Misfit
import diffserver.Outcome
import diffserver.RowList
import diffserver.applyingKeyed
import diffserver.stages
import diffserver.take
import kotlin.random.Random

private fun Followed.updated(answer: JsonValue): ListUpdate? = (take(answer) as? Outcome.Updated)?.update

fun Suite.randomTests() {
    for (query in listOf("dialect=keyed", "dialect=keyed&content=patch")) {
        test("random changes by $query lead to the server's rows") {
            val random = Random(query.length)
            val session = newSession()
            var followed = Followed()
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
    for (staging in listOf("safe", "compact")) {
        test("random changes by stages, $staging, are drawn by RecyclerView as the server's rows") {
            val random = Random(staging.length)
            val session = newSession()
            val adapter = PlainAdapter()
            val screen = Screen(adapter)
            var followed = Followed()
            var (stages, moves) = 0 to 0
            var state = random.state()
            repeat(300) {
                state = if (random.nextBoolean()) random.touched(state) else random.state()
                post(session, state)
                val since = followed.revision?.let { "&since=$it" } ?: ""
                val query = "dialect=staged&staging=$staging&content=patch$since"
                val answer = request("GET", "sessions/$session/changes?$query")
                val update = followed.updated(answer) ?: return@repeat
                val change = update.change
                if (change is Change.Staged) {
                    stages += change.stages.size
                    for (stage in change.stages) {
                        moves += stage.rows.moved.size
                        for (move in stage.sections.moved) moves += stage.before.sections[move.from].rows.size + 1
                    }
                }
                followed = update.followed
                same(followed.list, rowsOf(session), answer)
                adapter.show(update)
                // RecyclerView lays out when it gets to it.
                if (random.nextBoolean()) screen.layOut()
            }
            screen.layOut()
            val counts = "$stages stages, $moves moves, ${screen.rebound} rebound"
            holds(stages > 300 && moves > 50 && screen.rebound > 20, counts)
            // In a compact stage a row may leave a deleted section for an inserted one, which nobody calls a move.
            holds(screen.moves <= moves || staging == "compact", "${screen.moves} moves for $moves")
        }
    }
    test("an update that leads on from elsewhere is drawn anew") {
        val adapter = PlainAdapter()
        val screen = Screen(adapter)
        val session = newSession()
        post(session, listOf("a", "b", "c"))
        val first = Followed().updated(request("GET", "sessions/$session/changes?dialect=staged"))!!
        post(session, listOf("c", "a", "d"))
        val second = first.followed.updated(
            request("GET", "sessions/$session/changes?dialect=staged&since=${first.followed.revision}"))!!
        adapter.show(second)
        screen.layOut()
        same(adapter.entries.size, 3)
    }
    test("changes that do not fit are refused, and the rows stay") {
        val rows = """[{"id":"a"},{"id":"b","content":1}]"""
        val list = RowList.of(JsonValue.parse("""{"sections":[{"id":"s","items":$rows},{"id":"t","items":[]}]}"""))
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
        for (operation in keyed) throws<Misfit>(operation) { list.applyingKeyed(JsonValue.parse("[$operation]")) }
        val staged = listOf(
            """"counts":[1,0],"items":{"deleted":[[0,2]]}""", """"counts":[2,0],"items":{"deleted":[[0,1]]}""",
            """"counts":[1,0],"items":{"deleted":[[0,1],[0,1]]}""", """"counts":[2],"sections":{"deleted":[2]}""",
            """"counts":[3,0],"items":{"inserted":[{"at":[0,2],"item":{"id":"a"}}]}""",
            """"counts":[3,0],"items":{"inserted":[{"at":[0,3],"item":{"id":"x"}}]}""",
            """"counts":[2,0,1],"items":{"inserted":[{"at":[2,0],"item":{"id":"x"}}]}""",
            """"counts":[2,0],"items":{"updated":[{"at":[0,0],"item":{"id":"b"},"as":"reload"}]}""",
            """"counts":[1,0],"items":{"deleted":[[0,0]],"updated":[{"at":[0,1],"item":{"id":"b"},"as":"reload"}]}""",
            """"counts":[0],"items":{"deleted":[[0,0]]},"sections":{"deleted":[0]}""",
            """"counts":[1,1],"items":{"moved":[{"from":[0,0],"to":[1,1]}]}"""
        )
        for (stage in staged) throws<Misfit>(stage) { list.stages(JsonValue.parse("""[{"name":"items",$stage}]""")) }
        val odd = """{"from":"1-a","to":"2-b","dialect":"odd","changes":[]}"""
        for (answer in listOf("{}", """{"to":"1-a","reset":"initial"}""", odd)) {
            throws<Misfit>(answer) { Followed(list, "1-a").take(JsonValue.parse(answer)) }
        }
    }
    test("what a changeset leaves alone stays the same object") {
        val (one, other) = """{"id":"s","items":[{"id":"a"},{"id":"b"}]}""" to """{"id":"t","items":[{"id":"c"}]}"""
        val list = RowList.of(JsonValue.parse("""{"sections":[$one,$other]}"""))
        val after = list.applyingKeyed(JsonValue.parse("""[{"op":"move","item":"b","in":"s","before":"a"}]"""))
        holds(after.sections[1] === list.sections[1], "a section")
        holds(after.sections[0].rows[0] === list.sections[0].rows[1], "a row")
    }
}
