"""Where things are: look-ups of items and sections, and the model's answers."""

from urllib.parse import quote

from model_answers import require
from support.jsontext import Number, key


def entries(state):
    """The answer about each item and each section, by id."""
    items, sections = {}, {}
    for index, section in enumerate(state["sections"]):
        rows = []
        walk(section["items"], section, None, 0, section.get("expanded", True), index, rows, items)
        sections[key(section["id"])] = {
            "id": key(section["id"]), "index": index, "expanded": section.get("expanded", True), "rows": len(rows),
            **{name: section[name] for name in ("content",) if name in section}}
    return items, sections


def walk(own, section, parent, level, is_visible, index, rows, items):
    for item in own:
        told = {"id": key(item["id"]), "section": key(section["id"]), "parent": parent and key(parent["id"]), "level": level,
                "indexPath": [index, len(rows)] if is_visible else None, "visible": is_visible, "expanded": item.get("expanded", True),
                **{name: item[name] for name in ("kind", "content") if name in item}}
        items[key(item["id"])] = told
        if is_visible:
            rows.append(item)
        walk(item.get("items", []), section, item, level + 1, is_visible and told["expanded"], index, rows, items)


def draw_lookup(draw, reader):
    """A path, a query, and what it asks for."""
    board = reader.board
    query = {"view": reader.view} if reader.view else {}
    is_long = draw.likes("gzip", 0)
    if reader.revision and draw.random() < 0.3 and not is_long:
        query["revision"] = reader.revision
    state = board.seen(board.head, reader.through)[0]
    items, sections = entries(state)
    what, known = draw.choice([("items", items), ("items", items), ("sections", sections)])
    chosen = draw.sample(sorted(known), min(len(known), 20 if is_long else 2)) + ["nobody"]
    if draw.random() < 0.5 and not is_long:
        one = draw.choice(chosen)
        return f"/{what}/{quote(one, safe='')}", query, (what, one, None)
    query["at"] = [f"{draw.randint(0, 2)},{draw.randint(0, 5)}" if what == "items" else str(draw.randint(0, 3))]
    query["id"] = chosen
    return f"/{what}", query, (what, None, (query["at"], chosen))


def plain(value):
    """Ids by their text, numbers as they are."""
    return {name: key(each) if name in ("id", "section", "parent") and each is not None else each for name, each in value.items()}


def check_lookup(answer, board, reader, query, wanted):
    what, one, several = wanted
    base, has_content = board.head, True
    if "revision" in query:
        base, has_content = reader.base, False
        known = board.is_remembered(base, board.head)
        # Revisions before a reload are kept for nobody's changes.
        is_behind = any(each.reload for each in board.between(base, board.head))
        if not known or is_behind and answer.status == 410:
            may_be_alike = known is None or not reader.through
            require(answer.status in ((410, 200, 404) if may_be_alike or is_behind else (410,)), "a forgotten revision:", answer)
            return
    items, sections = entries(board.seen(base, reader.through)[0])
    known = items if what == "items" else sections
    if not has_content:
        known = {name: {member: value for member, value in each.items() if member != "content"} for name, each in known.items()}
    if one is not None:
        if one not in known:
            require(answer.status == 404, "nobody is there:", answer)
            return
        require(answer.status == 200, "somebody is there:", answer)
        found = plain(answer.exact)
        found.pop("revision")
        require(found == numbers(known[one]), "looked up:", found, "in place of", known[one])
        return
    require(answer.status == 200, "several:", answer)
    told = answer.exact
    order = {}
    for place in several[0]:
        path = [int(each) for each in place.split(",")]
        where = {name: each["indexPath"] if what == "items" else [each["index"]] for name, each in known.items()}
        order["at", place] = next((known[name] for name, found in where.items() if found == path), None)
    for identity in several[1]:
        order["id", identity] = known.get(identity)
    found = [plain(each) for each in told[what]]
    expected = [numbers(each) for each in order.values() if each]
    require(found == expected, "looked up:", found, "in place of", expected)
    require(len(told["missing"]) == sum(each is None for each in order.values()), "missing:", told["missing"], order)


def numbers(value):
    """The same with numbers as tokens."""
    def token(each):
        if isinstance(each, list):
            return [token(inner) for inner in each]
        return Number(str(each)) if isinstance(each, int) and not isinstance(each, bool) else each
    return {name: each if name == "content" else token(each) for name, each in value.items()}
