"""Documents as twenty public APIs answer them, followed with no code: a shape, and each change told minimally.

Written by hand from the public formats of these APIs, with the members that a list would show. Each row is posted through the
parameters of its shape and to a session that keeps it, is changed as it would change, and the writer is told what changed, with
the right `as`.
"""

import copy

from support.case import ServiceCase


class Upstream:
    """A document, the place of its list, its ids, and changes: each with its edit and the expected report."""

    def __init__(self, name, shape, document, ids, *changes):
        self.name, self.shape, self.document, self.ids, self.changes = name, shape, document, ids, changes

    @property
    def kept(self):
        """The shape as a session keeps it."""
        return {name: value == "true" if name == "map" else value for name, value in self.shape.items()}


def put(*path):
    """A change of the value at a path, or, if the last part is a function, by that function."""
    *way, last, value = path

    def change(document):
        for part in way:
            document = document[part]
        document[last] = value(document[last]) if callable(value) else value
    return change


def both(*changes):
    def change(document):
        for each in changes:
            each(document)
    return change


def first_last(rows):
    return rows[1:] + rows[:1]


def insert(*ids):
    return [("insert", each, None) for each in ids]


def remove(*ids):
    return [("remove", each, None) for each in ids]


def move(*ids):
    return [("move", each, None) for each in ids]


def redraw(*ids):
    return [("update", each, "reconfigure") for each in ids]


def reload(*ids):
    return [("update", each, "reload") for each in ids]


UPSTREAMS = [
    Upstream(
        "GitHub's issues of a repository", {"idAt": "/node_id", "kindAt": "/state_reason"},
        [{"id": 1, "node_id": "I_1", "number": 1347, "state": "open", "state_reason": None, "title": "Found a bug",
          "user": {"login": "octocat", "id": 1}, "labels": [{"id": 208, "name": "bug"}], "comments": 0, "pull_request": None},
         {"id": 2, "node_id": "I_2", "number": 1348, "state": "open", "state_reason": None, "title": "And another", "labels": []}],
        ["I_1", "I_2"],
        (put(0, "comments", 1), redraw("I_1")),
        (both(put(1, "state", "closed"), put(1, "state_reason", "completed")), reload("I_2"))),
    Upstream(
        "GitHub's search", {"itemsAt": "/items"},
        {"total_count": 2, "incomplete_results": False, "items": [
            {"id": 3081286, "name": "Tetris", "owner": {"login": "dtrupenn"}, "score": 1.0, "stargazers_count": 1},
            {"id": 3081287, "name": "Trysil", "owner": {"login": "x"}, "score": 0.5, "stargazers_count": 7}]},
        [3081286, 3081287],
        (put("total_count", 3), []),
        (both(put("items", first_last), put("total_count", 9)), move(3081286)),
        (put("items", 0, "stargazers_count", 8), redraw(3081287))),
    Upstream(
        "JSON:API", {"itemsAt": "/data", "idAt": ["/type", "/id"], "kindAt": "/type"},
        {"jsonapi": {"version": "1.1"}, "links": {"self": "/feed", "next": "/feed?page=2"}, "data": [
            {"type": "posts", "id": "1", "attributes": {"title": "Rails is Omakase"},
             "relationships": {"author": {"data": {"type": "people", "id": "9"}}}},
            {"type": "ads", "id": "1", "attributes": {"text": "Buy"}}]},
        ["posts/1", "ads/1"],
        (put("data", 0, "attributes", "title", "Omakase"), redraw("posts/1")),
        (put("data", 1, {"type": "posts", "id": "2"}), insert("posts/2") + remove("ads/1"))),
    Upstream(
        "HAL", {"itemsAt": "/_embedded/ea:order", "idAt": "/_links/self/href"},
        {"_links": {"self": {"href": "/orders"}, "next": {"href": "/orders?page=2"}}, "currentlyProcessing": 14,
         "_embedded": {"ea:order": [
             {"_links": {"self": {"href": "/orders/123"}}, "total": 30.00, "currency": "USD", "status": "shipped"},
             {"_links": {"self": {"href": "/orders/124"}}, "total": 20.00, "currency": "USD", "status": "processing"}]}},
        ["/orders/123", "/orders/124"],
        (put("currentlyProcessing", 13), []),
        (put("_embedded", "ea:order", 1, "status", "shipped"), redraw("/orders/124"))),
    Upstream(
        "Stripe's lists", {"itemsAt": "/data", "kindAt": "/object"},
        {"object": "list", "url": "/v1/balance/history", "has_more": True, "data": [
            {"id": "ch_1", "object": "charge", "amount": 1099, "currency": "usd", "metadata": {}},
            {"id": "re_1", "object": "refund", "amount": 500, "currency": "usd", "charge": "ch_1"}]},
        ["ch_1", "re_1"],
        (put("data", 0, "metadata", {"order": "6735"}), redraw("ch_1")),
        (put("data", lambda rows: [{"id": "po_1", "object": "payout", "amount": 1}] + rows), insert("po_1"))),
    Upstream(
        "Slack's conversations.history", {"itemsAt": "/messages", "idAt": "/ts", "kindAt": "/subtype"},
        {"ok": True, "has_more": True, "pin_count": 0, "response_metadata": {"next_cursor": "bmV4dF90czox"}, "messages": [
            {"type": "message", "user": "U012AB3CDE", "text": "I find you punny", "ts": "1512085950.000216"},
            {"type": "message", "user": "U061F7AUR", "text": "What, you want to smell my shoes?", "ts": "1512104434.000490"}]},
        ["1512085950.000216", "1512104434.000490"],
        (put("messages", 0, "reactions", [{"name": "joy", "count": 1}]), redraw("1512085950.000216")),
        (both(put("messages", 1, "subtype", "tombstone"), put("messages", 1, "text", "This message was deleted.")),
         reload("1512104434.000490"))),
    Upstream(
        "Mastodon's timeline", {"idAt": "/id", "kindAt": "/media_attachments/0/type"},
        [{"id": "103270115826048975", "created_at": "2019-12-08T03:48:33.901Z", "visibility": "public", "content": "<p>LOREM</p>",
          "reblog": None, "account": {"id": "1", "acct": "Gargron"}, "media_attachments": [], "favourites_count": 0},
         {"id": "103270115826048976", "content": "<p>IPSUM</p>", "media_attachments": [{"id": "22", "type": "image"}]}],
        ["103270115826048975", "103270115826048976"],
        (put(0, "favourites_count", 1), redraw("103270115826048975")),
        (put(0, "media_attachments", [{"id": "23", "type": "video"}]), reload("103270115826048975"))),
    Upstream(
        "Reddit's listings", {"itemsAt": "/data/children", "idAt": "/data/name", "kindAt": "/kind"},
        {"kind": "Listing", "data": {"after": "t3_15bfi0", "dist": 2, "modhash": "", "before": None, "children": [
            {"kind": "t3", "data": {"name": "t3_1", "id": "1", "subreddit": "swift", "title": "A", "ups": 10, "likes": None}},
            {"kind": "t1", "data": {"name": "t1_2", "id": "2", "subreddit": "swift", "body": "B", "ups": 3, "replies": ""}}]}},
        ["t3_1", "t1_2"],
        (put("data", "children", 0, "data", "ups", 11), redraw("t3_1")),
        (put("data", "after", "t3_99"), []),
        (put("data", "children", first_last), move("t3_1"))),
    Upstream(
        "Hacker News by Algolia", {"itemsAt": "/hits", "idAt": "/objectID", "kindAt": "/_tags/0"},
        {"nbHits": 2, "page": 0, "processingTimeMS": 1, "query": "swift", "hits": [
            {"objectID": "8863", "title": "My YC app: Dropbox", "points": 104, "_tags": ["story", "author_dhouston"]},
            {"objectID": "2921983", "comment_text": "Aw shucks", "story_id": 2921506, "_tags": ["comment", "author_norvig"]}]},
        ["8863", "2921983"],
        (put("processingTimeMS", 7), []),
        (both(put("processingTimeMS", 2), put("hits", 0, "points", 105)), redraw("8863"))),
    Upstream(
        "a thread of Hacker News by Algolia", {"itemsAt": "/children", "childrenAt": "/children", "kindAt": "/type"},
        {"id": 1, "title": "Y Combinator", "type": "story", "points": 57, "children": [
            {"id": 15, "author": "sama", "text": "the rising star", "type": "comment", "children": [
                {"id": 17, "author": "pg", "text": "Is there", "type": "comment", "children": []}]},
            {"id": 234, "author": "kleevr", "text": "hmm", "type": "comment", "children": []}]},
        [15, 17, 234],
        (put("children", 0, "children", 0, "children", [{"id": 1079, "text": "yes", "type": "comment", "children": []}]),
         insert(1079) + redraw(17)),
        (put("children", 1, "text", None), redraw(234))),
    Upstream(
        "GTFS Realtime's alerts", {"itemsAt": "/entity", "kindAt": "/alert/effect"},
        {"header": {"gtfsRealtimeVersion": "2.0", "incrementality": "FULL_DATASET", "timestamp": "1700000000"}, "entity": [
            {"id": "lmm:alert:1", "alert": {"effect": "DETOUR", "informedEntity": [{"agencyId": "MTASBWY", "routeId": "A"}],
                                            "headerText": {"translation": [{"text": "A trains reroute", "language": "en"}]}}},
            {"id": "lmm:alert:2", "alert": {"effect": "MODIFIED_SERVICE", "informedEntity": [{"routeId": "L"}]}}]},
        ["lmm:alert:1", "lmm:alert:2"],
        (put("header", "timestamp", "1700000030"), []),
        (put("entity", 0, "alert", "effect", "NO_SERVICE"), reload("lmm:alert:1")),
        (put("entity", lambda rows: rows[:1]), remove("lmm:alert:2"))),
    Upstream(
        "an RSS feed as JSON", {"itemsAt": "/items", "idAt": "/guid"},
        {"status": "ok", "feed": {"url": "https://example.org/rss", "title": "News"}, "items": [
            {"title": "B", "pubDate": "2026-11-20 10:00:00", "link": "https://example.org/b", "guid": "https://example.org/?p=2"},
            {"title": "A", "pubDate": "2026-11-19 10:00:00", "link": "https://example.org/a", "guid": "https://example.org/?p=1"}]},
        ["https://example.org/?p=2", "https://example.org/?p=1"],
        (put("items", lambda rows: [{"title": "C", "guid": "https://example.org/?p=3"}] + rows[:1]),
         insert("https://example.org/?p=3") + remove("https://example.org/?p=1")),
        (put("items", 0, "title", "C, corrected"), redraw("https://example.org/?p=3"))),
    Upstream(
        "GraphQL's connections", {"itemsAt": "/data/repository/timeline/edges", "idAt": "/node/id", "kindAt": "/node/__typename"},
        {"data": {"repository": {"name": "swift", "timeline": {
            "pageInfo": {"hasNextPage": True, "endCursor": "Y3Vyc29yOjI="}, "totalCount": 20, "edges": [
                {"cursor": "Y3Vyc29yOjE=", "node": {"__typename": "Issue", "id": "I_a", "title": "Crash"}},
                {"cursor": "Y3Vyc29yOjI=", "node": {"__typename": "PullRequest", "id": "PR_b", "title": "Fix", "merged": False}}]}}}},
        ["I_a", "PR_b"],
        (put("data", "repository", "timeline", "edges", 1, "node", "merged", True), redraw("PR_b")),
        (put("data", "repository", "timeline", "edges", 0, "node", {"__typename": "Discussion", "id": "I_a"}), reload("I_a"))),
    Upstream(
        "Elasticsearch's hits", {"itemsAt": "/hits/hits", "idAt": ["/_index", "/_id"], "kindAt": "/_index"},
        {"took": 5, "timed_out": False, "_shards": {"total": 1}, "hits": {
            "total": {"value": 20, "relation": "eq"}, "max_score": 1.3862942, "hits": [
                {"_index": "my-index-000001", "_id": "0", "_score": 1.3862942, "_source": {"message": "GET /search", "user.id": "kimchy"}},
                {"_index": "my-index-000002", "_id": "0", "_score": 1.2, "_source": {"message": "GET /"}}]}},
        ["my-index-000001/0", "my-index-000002/0"],
        (put("took", 6), []),
        (both(put("took", 7), put("hits", "hits", 1, "_source", "message", "POST /")), redraw("my-index-000002/0"))),
    Upstream(
        "Notion's blocks", {"itemsAt": "/results", "kindAt": "/type"},
        {"object": "list", "next_cursor": None, "has_more": False, "type": "block", "block": {}, "results": [
            {"object": "block", "id": "c02fc1d3", "type": "heading_2", "has_children": False,
             "heading_2": {"rich_text": [{"plain_text": "Lacinato kale"}]}},
            {"object": "block", "id": "acc7eb06", "type": "paragraph", "paragraph": {"rich_text": []}}]},
        ["c02fc1d3", "acc7eb06"],
        (put("results", 1, "paragraph", {"rich_text": [{"plain_text": "a leafy green"}]}), redraw("acc7eb06")),
        (put("results", 1, {"object": "block", "id": "acc7eb06", "type": "to_do", "to_do": {"checked": False}}), reload("acc7eb06"))),
    Upstream(
        "Shopify's orders", {"itemsAt": "/orders", "kindAt": "/fulfillment_status"},
        {"orders": [
            {"id": 450789469, "name": "#1001", "total_price": "598.94", "financial_status": "partially_refunded",
             "fulfillment_status": None, "line_items": [{"id": 466157049, "quantity": 1}]},
            {"id": 450789470, "name": "#1002", "total_price": "9.95", "fulfillment_status": "fulfilled", "line_items": []}]},
        [450789469, 450789470],
        (put("orders", 0, "line_items", 0, "quantity", 2), redraw(450789469)),
        (put("orders", 0, "fulfillment_status", "partial"), reload(450789469))),
    Upstream(
        "Trello's lists with their cards", {"sectionsAt": "", "itemsAt": "/cards"},
        [{"id": "59d2b1", "name": "To do", "closed": False, "pos": 16384, "cards": [
            {"id": "5abbe4b7", "name": "Paint", "idList": "59d2b1", "due": None}, {"id": "5abbe4b8", "name": "Nail", "idList": "59d2b1"}]},
         {"id": "59d2b2", "name": "Done", "closed": False, "pos": 32768, "cards": []}],
        ["5abbe4b7", "5abbe4b8"],
        (both(put(0, "cards", lambda cards: cards[:1]), put(1, "cards", [{"id": "5abbe4b8", "name": "Nail", "idList": "59d2b2"}])),
         move("5abbe4b8") + redraw("5abbe4b8")),
        (put(1, "name", "Finished"), [("update", "59d2b2", None)])),
    Upstream(
        "Jira's search", {"itemsAt": "/issues", "idAt": "/key", "kindAt": "/fields/issuetype/name"},
        {"expand": "names,schema", "startAt": 0, "maxResults": 50, "total": 2, "issues": [
            {"id": "10002", "key": "ED-1", "fields": {"summary": "Main order flow broken", "issuetype": {"name": "Bug"},
                                                     "status": {"name": "Open"}}},
            {"id": "10003", "key": "ED-2", "fields": {"summary": "Search", "issuetype": {"name": "Story"}, "status": {"name": "Open"}}}]},
        ["ED-1", "ED-2"],
        (put("issues", 0, "fields", "status", {"name": "Done"}), redraw("ED-1")),
        (put("issues", 1, "fields", "issuetype", {"name": "Epic"}), reload("ED-2"))),
    Upstream(
        "YouTube's playlist items", {"itemsAt": "/items", "kindAt": "/snippet/resourceId/kind"},
        {"kind": "youtube#playlistItemListResponse", "etag": "NBCg7B", "nextPageToken": "CAUQAA", "pageInfo": {"totalResults": 9}, "items": [
            {"kind": "youtube#playlistItem", "etag": "Pj3b", "id": "UEx0", "snippet": {"position": 0, "title": "One",
                "resourceId": {"kind": "youtube#video", "videoId": "dQw4"}}},
            {"kind": "youtube#playlistItem", "etag": "Ok7c", "id": "UEx1", "snippet": {"position": 1, "title": "Two",
                "resourceId": {"kind": "youtube#video", "videoId": "9bZk"}}}]},
        ["UEx0", "UEx1"],
        (put("etag", "other"), []),
        (both(put("etag", "third"), put("items", 1, "snippet", "title", "Two (Live)")), redraw("UEx1"))),
    Upstream(
        "Spotify's playlist, in which a track may stand twice",
        {"itemsAt": "/items", "idAt": "/track/uri", "kindAt": "/track/type", "duplicates": "first"},
        {"href": "https://api.spotify.com/v1/playlists/3/tracks", "limit": 100, "next": None, "total": 3, "items": [
            {"added_at": "2015-01-15T12:39:22Z", "is_local": False, "track": {"uri": "spotify:track:a", "type": "track", "name": "A"}},
            {"added_at": "2015-01-16T12:39:22Z", "is_local": False, "track": {"uri": "spotify:episode:b", "type": "episode", "name": "B"}},
            {"added_at": "2015-01-17T12:39:22Z", "is_local": False, "track": {"uri": "spotify:track:a", "type": "track", "name": "A"}}]},
        ["spotify:track:a", "spotify:episode:b"],
        (put("items", lambda rows: rows[1:]), move("spotify:track:a") + redraw("spotify:track:a")),
        (put("items", 0, "track", "name", "B, remastered"), redraw("spotify:episode:b"))),
    Upstream(
        "alerts of the National Weather Service", {"itemsAt": "/features", "kindAt": "/properties/severity"},
        {"@context": [], "type": "FeatureCollection", "title": "Current watches", "updated": "2026-11-22T10:00:00+00:00", "features": [
            {"id": "https://api.weather.gov/alerts/urn:oid:2.49.0.1.840.0.1", "type": "Feature", "geometry": None,
             "properties": {"event": "Flood Watch", "severity": "Moderate", "areaDesc": "Coos, OR"}}]},
        ["https://api.weather.gov/alerts/urn:oid:2.49.0.1.840.0.1"],
        (put("updated", "2026-11-22T10:05:00+00:00"), []),
        (put("features", 0, "properties", "severity", "Severe"), reload("https://api.weather.gov/alerts/urn:oid:2.49.0.1.840.0.1"))),
    Upstream(
        "a map by id, as Firebase has it", {"itemsAt": "/messages", "map": "true", "kindAt": "/type"},
        {"messages": {"-JRHTHaIs-jNPLXO": {"type": "text", "text": "Hi", "at": 1}, "-JRHTHaKuITFIhnj": {"type": "photo", "url": "/1"}}},
        ["-JRHTHaIs-jNPLXO", "-JRHTHaKuITFIhnj"],
        (put("messages", "-JRHTHaIs-jNPLXO", "text", "Hi!"), redraw("-JRHTHaIs-jNPLXO")),
        (put("messages", "-JRHTHaMxk", {"type": "text"}), insert("-JRHTHaMxk"))),
]


def told(changes):
    """What is said of each row or section: the operation, the id, and how it is to be drawn if it is a row's update."""
    found = []
    for each in changes:
        rows = each.get("items", [each["item"]] if "item" in each else [])
        for row in rows or [each["section"]]:
            found.append((each["op"], row["id"] if isinstance(row, dict) else row, each.get("as") if rows else None))
    return found


class Upstreams(ServiceCase):
    def shown(self, session):
        rows = []

        def add(items):
            for item in items:
                rows.append(item["id"])
                add(item.get("items", []))
        for section in self.get_session(session).json["state"]["sections"]:
            add(section["items"])
        return rows

    def follow(self, upstream, session, query):
        document = copy.deepcopy(upstream.document)
        self.assertEqual(self.shown(session), upstream.ids)
        self.assertEqual(self.post_changes(session, document, query).json["changes"], [])
        for number, (change, expected) in enumerate(upstream.changes):
            with self.subTest(upstream.name, change=number, query=query):
                old = copy.deepcopy(document)
                change(document)
                answer = self.post_changes(session, document, query)
                self.assertEqual(sorted(told(answer.json["changes"]), key=str), sorted(expected, key=str), answer)
                if not query:
                    # The same without a session.
                    compared = self.diff(old, document, upstream.shape).json["changes"]
                    self.assertEqual(compared, answer.json["changes"])

    def test_each_is_followed_through_parameters(self):
        for upstream in UPSTREAMS:
            with self.subTest(upstream.name):
                session, _ = self.made(upstream.document, query=upstream.shape)
                self.follow(upstream, session, upstream.shape)

    def test_each_is_followed_by_a_session_that_keeps_its_shape(self):
        for upstream in UPSTREAMS:
            with self.subTest(upstream.name):
                session = self.new_name()
                self.assertStatus(self.put_session(session, {"state": upstream.document, "shape": upstream.kept}), 201)
                self.follow(upstream, session, None)

    def test_an_error_page_of_an_upstream_changes_nothing(self):
        pages = [{"message": "Bad credentials", "documentation_url": "https://docs.example"}, {"error": {"code": 429}}, '"oops"', "null", "0", "{}"]
        for upstream in UPSTREAMS:
            session, revision = self.made(upstream.document, query=upstream.shape)
            # If the list is the document, null is an empty one.
            is_root = upstream.shape.get("sectionsAt", upstream.shape.get("itemsAt", "")) == ""
            for page in pages:
                if page == "null" and is_root:
                    continue
                with self.subTest(upstream.name, page=page):
                    self.assertProblem(self.post_changes(session, page, upstream.shape), 422, "invalid-state")
            self.assertEqual(self.get_session(session).json["revision"], revision)
