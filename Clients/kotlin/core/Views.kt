// The part of a session to follow: a view and a window, as docs/views.md describes them; and where a list is in a
// document, as docs/api/shapes.md does.

package diffserver

/**
 * A part of a list: its sections, the items that pass all tests, sorted, grouped, collapsed and limited, in this order.
 *
 *     RowView(
 *         where = listOf(At("/content/open") eq true, At("/content/total") atLeast 10),
 *         order = listOf(At("/content/total").descending), limit = 50)
 */
class RowView private constructor(override val json: JsonValue) : HasJson {
    /**
     * @param sections ids of the sections to show.
     * @param sectionOrder the order of sections, by `/id` or a place in `/content`.
     * @param emptySections whether to show sections without items.
     * @param collapsedSections ids of sections collapsed in this view, whatever the list says.
     * @param fields the members of the items' contents to show.
     */
    constructor(
        sections: List<Any>? = null, where: List<RowTest>? = null, order: List<RowOrder>? = null,
        group: RowGroup? = null, sectionOrder: List<RowOrder>? = null, emptySections: Boolean = true,
        collapsedSections: List<Any>? = null, collapsedItems: List<Any>? = null, limit: Int? = null,
        fields: List<String>? = null, sectionFields: List<String>? = null, listFields: List<String>? = null
    ) : this(objectOfPresent(
        "sections" to sections?.ids(), "where" to where, "order" to order, "group" to group,
        "sectionOrder" to sectionOrder, "emptySections" to false.takeUnless { emptySections },
        "collapsed" to objectOfPresent("sections" to collapsedSections?.ids(), "items" to collapsedItems?.ids())
            .takeUnless { collapsedSections == null && collapsedItems == null },
        "limit" to limit, "fields" to fields, "sectionFields" to sectionFields, "listFields" to listFields
    ))

    override fun toString() = json.toString()

    companion object {
        /** A view given as JSON. */
        fun of(json: JsonValue) = RowView(json)
    }
}

/**
 * A place in an item, by a JSON Pointer: `/id`, `/kind`, `/expanded`, or into `/content`. If nothing is there, only the
 * tests `isNot` and `isMissing` pass.
 */
class At(private val pointer: String) {
    infix fun eq(value: Any?) = test("is", value)
    infix fun isNot(value: Any?) = test("not", value)
    infix fun isIn(values: Iterable<Any?>) = test("in", values)
    infix fun below(value: Any) = test("below", value)
    infix fun above(value: Any) = test("above", value)
    infix fun atMost(value: Any) = test("atMost", value)
    infix fun atLeast(value: Any) = test("atLeast", value)

    /** Passes for a string that contains this one. */
    infix fun has(part: String) = test("has", part)

    val exists get() = test("exists", true)
    val isMissing get() = test("exists", false)

    val ascending get() = RowOrder(JsonValue.objectOf("at" to pointer))
    val descending get() = RowOrder(JsonValue.objectOf("at" to pointer, "descending" to true))

    private fun test(name: String, value: Any?) = RowTest(JsonValue.objectOf("at" to pointer, name to value))
}

/** A test of an item: see [At]. */
class RowTest internal constructor(override val json: JsonValue) : HasJson {
    /** The same test, with strings compared without regard to case. */
    val folded: RowTest get() = RowTest(
        json["any"]?.array?.let { JsonValue.objectOf("any" to it.map { test -> RowTest(test).folded }) }
            ?: json.merging(JsonValue.objectOf("fold" to true)))

    companion object {
        /** Passes if one of these does. */
        fun any(vararg tests: RowTest) = RowTest(JsonValue.objectOf("any" to tests.toList()))
    }
}

/** An order of siblings: see [At]. */
class RowOrder internal constructor(override val json: JsonValue) : HasJson

/** Sections by the value at a place in the items, or by a prefix of it. */
class RowGroup(at: String, prefix: Int? = null) : HasJson {
    override val json = objectOfPresent("at" to at, "prefix" to prefix)
}

/** Which rows to follow: a number of them before and after an anchor. */
class RowWindow private constructor(internal val parameters: List<Pair<String, String>>) {
    companion object {
        /** Always the first rows. */
        fun atStart(after: Int) = RowWindow(listOf("at" to "start", "after" to "$after"))

        /** Always the last rows. */
        fun atEnd(before: Int) = RowWindow(listOf("at" to "end", "before" to "$before"))

        /** Always those around the row with this index. */
        fun at(row: Int, before: Int, after: Int) =
            RowWindow(listOf("at" to "$row", "before" to "$before", "after" to "$after"))

        /** Those around a row, wherever it goes. */
        fun around(id: Any, before: Int, after: Int) =
            RowWindow(listOf("around" to id.idText(), "before" to "$before", "after" to "$after"))
    }
}

/**
 * Where the list is in a document of your own, by JSON Pointers: docs/api/shapes.md describes each.
 *
 *     RowShape(itemsAt = "/orders", idAt = listOf("/orderNo"))
 *
 * @param idAt an element's id; several are its parts.
 * @param idBy `match` for elements without ids.
 * @param groupPrefix how many characters of the value at `groupAt` make a section.
 * @param idScope `section` if ids are unique within their section only.
 * @param map whether elements are the members of an object.
 * @param rest the members of the document that become the list's content; `true` alone for all.
 * @param duplicates `first` to keep the first of several elements with one id.
 * @param missing `empty` to take a list that is not there for an empty one.
 * @param invalid `skip` to leave out elements without a usable id.
 */
class RowShape(
    itemsAt: String? = null, idAt: List<String> = emptyList(), idBy: String? = null, sectionsAt: String? = null,
    sectionIdAt: String? = null, kindAt: String? = null, childrenAt: String? = null, expandedAt: String? = null,
    sectionExpandedAt: String? = null, groupAt: String? = null, groupPrefix: Int? = null, idScope: String? = null,
    map: Boolean = false, rest: List<String> = emptyList(), duplicates: String? = null, missing: String? = null,
    invalid: String? = null
) {
    internal val parameters: List<Pair<String, String>> = (listOf(
        "itemsAt" to itemsAt, "idBy" to idBy, "sectionsAt" to sectionsAt, "sectionIdAt" to sectionIdAt,
        "kindAt" to kindAt, "childrenAt" to childrenAt, "expandedAt" to expandedAt,
        "sectionExpandedAt" to sectionExpandedAt, "groupAt" to groupAt, "groupPrefix" to groupPrefix?.toString(),
        "idScope" to idScope, "map" to "true".takeIf { map }, "duplicates" to duplicates, "missing" to missing,
        "invalid" to invalid
    ) + idAt.map { "idAt" to it } + rest.map { "rest" to it }).mapNotNull { (name, value) -> value?.let { name to it } }
}
