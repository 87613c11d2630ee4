"""diffable: final ids, what to redraw, and the items and sections that are new or changed."""

from ..jsontext import key
from .rows import Shown, header, members, require, row, shown, visible

__all__ = ["shown", "applied", "expected"]

expected = visible

LISTS = ["sections", "reload", "reconfigure", "reloadSections", "reconfigureSections", "items", "sectionContents"]


def unique(ids, what):
    keys = [key(each) for each in ids]
    require(len(set(keys)) == len(keys), what, "holds an id twice")
    return set(keys)


def applied(before, changes):
    members(changes, LISTS)
    old_rows = {line["id"]: line for _, rows in before.sections for line in rows}
    old_heads = {head["id"]: head for head, _ in before.sections}
    reload, reconfigure = unique(changes["reload"], "reload"), unique(changes["reconfigure"], "reconfigure")
    require(not reload & reconfigure, "reloaded and reconfigured:", reload & reconfigure)

    given = {}
    for item in changes["items"]:
        require(key(item["id"]) not in given, "given twice:", item)
        given[key(item["id"])] = row(item, old_rows.get(key(item["id"])))
    heads = {}
    for section in changes["sectionContents"]:
        require("items" not in section and key(section["id"]) not in heads, "no section less its items:", section)
        heads[key(section["id"])] = header(section, old_heads.get(key(section["id"])))

    result = Shown()
    for section in changes["sections"]:
        members(section, ["id", "items"])
        name = key(section["id"])
        require(name in heads or name in old_heads, "a new section without its own:", name)
        unique(section["items"], "a section")
        lines = []
        for each in section["items"]:
            require(key(each) in given or key(each) in old_rows, "a new row without its own:", each)
            lines.append(given.get(key(each)) or old_rows[key(each)])
        result.sections.append((heads.get(name) or old_heads[name], lines))
    final = {line["id"] for _, rows in result.sections for line in rows}
    final_heads = set(result.order())
    require(set(given) <= final and set(heads) <= final_heads, "more is given than shown")
    changed = {each for each in final & set(old_rows) if each in given and given[each] != old_rows[each]}
    require(changed <= reload | reconfigure, "changed, yet not redrawn:", changed - reload - reconfigure)
    require(reload | reconfigure <= final & set(old_rows), "what is not at both ends is redrawn")
    for each in changed:
        if given[each].get("kind") != old_rows[each].get("kind"):
            require(each in reload, "another kind, yet not reloaded:", each)
    reload = unique(changes["reloadSections"], "reloadSections")
    reconfigure = unique(changes["reconfigureSections"], "reconfigureSections")
    require(not reload & reconfigure, "sections reloaded and reconfigured:", reload & reconfigure)
    drawn = reload | reconfigure
    changed = {each for each in final_heads & set(old_heads) if each in heads and heads[each] != old_heads[each]}
    require(changed <= drawn <= final_heads & set(old_heads), "sections drawn again:", drawn, "for", changed)
    return result.check()
