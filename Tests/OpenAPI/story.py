"""The two states of a grocery list in the examples of the description."""

import validator

OLD = {"sections": [
    {"id": "today", "content": {"title": "Today"}, "items": [
        {"id": 1, "content": {"text": "Bread"}}, {"id": 2, "content": {"text": "Milk"}}, {"id": 3, "content": {"text": "Salt"}}]},
    {"id": "later", "items": [{"id": 4, "content": {"text": "Tea"}}]}]}

NEW = {"sections": [
    {"id": "today", "content": {"title": "Today (3)"}, "items": [
        {"id": 3, "content": {"text": "Salt"}}, {"id": 1, "content": {"text": "Rye bread"}}, {"id": 5, "content": {"text": "Jam"}}]},
    {"id": "later", "items": [{"id": 4, "content": {"text": "Tea"}}]}]}

DIALECTS = validator.description().document["components"]["schemas"]["Dialect"]["enum"]
SESSION = "/v1/sessions/groceries"
CHANGES = SESSION + "/changes"
PATCH_TYPE = "application/json-patch+json"


def media_type(dialect):
    return f"application/vnd.diffserver.{dialect}+json"


# Every answer of the tour and of the problems, in order: (method, target, answer).
seen = []
