import Testing

/// A document of foreign origin, and the shape that a person would give it.
struct ForeignDocument: Sendable, CustomTestStringConvertible {
    let name: String
    let json: String
    /// As JSON; nil if the document holds no list.
    let shape: String?
    var rows = 0
    var sections = 1

    var testDescription: String { name }
}

extension ForeignDocument {
    /// The first five are published: by California's fire department, and in specifications.
    static let all = published + made + without + misread
}

// MARK: - Published

private let published = [
    ForeignDocument(
        name: "California's active incidents",
        json: """
            {"Incidents":[
            {"UniqueId":"4a03c163-2598-4adf-aec1-5c3dac41fa23","Name":"Platina Fire","Latitude":40.44412,
            "AcresBurned":10,
             "Counties":["Shasta"],"CountyIds":"45","Updated":"2022-04-28T18:56:03.83Z","ArchiveYear":2022,
             "Public":true,
             "Status":"Active","CanonicalUrl":"/incidents/2022/4/27/platina-fire/","ExternalIncidentLink":null},
            {"UniqueId":"14a709fe-bd83-4ee2-8901-975aa4c44608","Name":"Moonlight RX","Latitude":40.18494,
            "AcresBurned":null,
             "Counties":["Plumas"],"CountyIds":"32","Updated":"2022-04-28T08:49:28.03Z","ArchiveYear":2022,
             "Public":true,
             "Status":"Active","CanonicalUrl":"/incidents/2022/4/9/moonlight-rx/","ExternalIncidentLink":null}],
            "AllYearIncidents":[],"AllAcres":12.5}
            """,
        shape: #"{"itemsAt":"/Incidents","idAt":"/UniqueId"}"#, rows: 2),
    ForeignDocument(
        name: "GeoJSON (RFC 7946), with the identifiers of §3.2",
        json: """
            {"type":"FeatureCollection","bbox":[100.0,0.0,105.0,1.0],"features":[
            {"type":"Feature","id":"f1","geometry":{"type":"Point","coordinates":[102.0,0.5]},
            "properties":{"prop0":"value0"}},
            {"type":"Feature","id":"f2","geometry":{"type":"LineString","coordinates":[[102.0,0.0],[103.0,1.0],
            [104.0,0.0]]},
             "properties":{"prop0":"value0","prop1":0.0}},
            {"type":"Feature","id":"f3","geometry":{"type":"Polygon","coordinates":
             [[[100.0,0.0],[101.0,0.0],[101.0,1.0],[100.0,1.0],[100.0,0.0]]]},
             "properties":{"prop0":"value0","prop1":{"this":"that"}}}]}
            """,
        shape: #"{"itemsAt":"/features","idAt":"/id"}"#, rows: 3),
    ForeignDocument(
        name: "JSON:API 1.1, a collection of several types",
        json: """
            {"links":{"self":"http://example.com/feed","next":"http://example.com/feed?page[offset]=2"},
            "data":[
            {"type":"articles","id":"1","attributes":{"title":"JSON:API paints my bikeshed!"},
             "relationships":{"author":{"data":{"type":"people","id":"9"}}},
             "links":{"self":"http://example.com/articles/1"}},
            {"type":"photos","id":"1","attributes":{"title":"Ember Hamster"},
            "links":{"self":"http://example.com/photos/1"}}],
            "included":[
            {"type":"people","id":"9","attributes":{"firstName":"Dan","lastName":"Gebhardt","twitter":"dgeb"}},
            {"type":"comments","id":"5","attributes":{"body":"First!"}},
            {"type":"comments","id":"12","attributes":{"body":"I like XML better"}}]}
            """,
        shape: #"{"itemsAt":"/data","idAt":["/type","/id"]}"#, rows: 2),
    ForeignDocument(
        name: "GraphQL cursor connections",
        json: """
            {"data":{"user":{"id":"4","name":"Mark","friends":{"totalCount":3,"edges":[
            {"cursor":"Y3Vyc29yMQ==","node":{"id":"1","name":"Ada","__typename":"User"}},
            {"cursor":"Y3Vyc29yMg==","node":{"id":"2","name":"Bob","__typename":"Bot"}}],
            "pageInfo":{"hasNextPage":false,"endCursor":"Y3Vyc29yMg=="}}}}}
            """,
        shape: #"{"itemsAt":"/data/user/friends/edges","idAt":"/node/id","kindAt":"/node/__typename"}"#, rows: 2),
    ForeignDocument(
        name: "JSON Feed 1.1",
        json: """
            {"version":"https://jsonfeed.org/version/1.1","title":"My Example Feed",
            "home_page_url":"https://example.org/",
            "feed_url":"https://example.org/feed.json","authors":[{"name":"Brent","url":"https://example.org/brent"}],
            "items":[
            {"id":"2","content_text":"This is a second item.","url":"https://example.org/second-item","tags":["a","b"]},
            {"id":"1","content_html":"<p>Hello, world!</p>","url":"https://example.org/initial-post"}]}
            """,
        shape: #"{"itemsAt":"/items","idAt":"/id"}"#, rows: 2),
]

// MARK: - Made

private let made = [
    ForeignDocument(
        name: "an object as a map, keyed by time",
        json: """
            {"rooms":{"-NxT3kQa":{"text":"Hello","from":"ada"},"-NxT3kQb":{"text":"Hi","from":"bob","edited":true},
            "-NxT3kQc":{"text":"Bye","from":"ada"}}}
            """,
        shape: #"{"itemsAt":"/rooms","map":true}"#, rows: 3),
    ForeignDocument(
        name: "RSS as JSON",
        json: """
            {"rss":{"@version":"2.0","channel":{"title":"News","link":"https://example.org","item":[
            {"title":"One","link":"https://example.org/a","guid":{"@isPermaLink":"false","#text":"urn:1"},
            "pubDate":"Mon"},
            {"title":"Two","link":"https://example.org/a","guid":{"@isPermaLink":"false","#text":"urn:2"},
            "pubDate":"Tue"}
            ]}}}
            """,
        shape: ##"{"itemsAt":"/rss/channel/item","idAt":"/guid/#text"}"##, rows: 2),
    ForeignDocument(
        name: "comments with replies",
        json: """
            {"post":{"id":9,"title":"T"},"comments":[{"id":1,"body":"a","replies":[{"id":2,"body":"b","replies":[]},
            {"id":4,"body":"d","replies":[{"id":5,"body":"e"}]}]},{"id":3,"body":"c","replies":[]}]}
            """,
        shape: #"{"itemsAt":"/comments","idAt":"/id","childrenAt":"/replies"}"#, rows: 5),
    ForeignDocument(
        name: "groups with headers",
        json: """
            {"updated":"2026-11-26","groups":[{"name":"Fruit","colour":"red","products":[{"sku":"a1","price":2},
            {"sku":"b2",
            "price":2}]},{"name":"Tools","colour":"blue","products":[{"sku":"c3","price":9}]},{"name":"Toys",
            "colour":"red",
            "products":[]}]}
            """,
        shape: #"{"sectionsAt":"/groups","sectionIdAt":"/name","itemsAt":"/products","idAt":"/sku"}"#, rows: 3,
        sections: 3),
    ForeignDocument(
        name: "a board: an object of lists",
        json: """
            {"todo":[{"_id":"t1","title":"Buy milk","position":1},{"_id":"t2","title":"Sell milk","position":2}],
            "doing":
            [{"_id":"t3","title":"Drink milk","position":1}],"done":[{"_id":"t4","title":"Spill milk","position":1}]}
            """,
        shape: #"{"sectionsAt":"","itemsAt":"","map":true,"idAt":"/_id"}"#, rows: 4, sections: 3),
    ForeignDocument(
        name: "exchange rates",
        json: #"{"base":"EUR","date":"2026-11-26","rates":{"USD":1.09,"JPY":164.2,"GBP":0.85}}"#,
        shape: #"{"itemsAt":"/rates","map":true}"#, rows: 3),
    ForeignDocument(
        name: "an envelope of users",
        json: """
            {"status":200,"message":"ok","data":{"total":2,"members":[{"userID":7,"nickname":"Ada","level":3,
            "parentId":1},
            {"userID":8,"nickname":"Bob","level":4,"parentId":2}]}}
            """,
        shape: #"{"itemsAt":"/data/members","idAt":"/userID"}"#, rows: 2),
    ForeignDocument(
        name: "hits of a search",
        json: """
            {"took":5,"timed_out":false,"hits":{"total":{"value":2},"max_score":1.3,"hits":[{"_index":"p","_id":"0",
            "_score":1.3,
            "_source":{"title":"A"}},{"_index":"p","_id":"1","_score":1.1,"_source":{"title":"B"}}]}}
            """,
        shape: #"{"itemsAt":"/hits/hits","idAt":"/_id"}"#, rows: 2),
    ForeignDocument(
        name: "resources of a cluster",
        json: """
            {"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[
            {"metadata":{"name":"web-1","uid":"u-1"},"spec":{"nodeName":"n1"},"status":{"phase":"Running"}},
            {"metadata":{"name":"web-2","uid":"u-2"},"spec":{"nodeName":"n1"},"status":{"phase":"Pending"}}]}
            """,
        shape: #"{"itemsAt":"/items","idAt":"/metadata/uid"}"#, rows: 2),
    ForeignDocument(
        name: "issues with labels, which are no sections",
        json: """
            [{"number":5,"title":"A","node_id":"I_1","user":{"id":1},"labels":[{"id":1,"name":"bug"}],"state":"open"},
            {"number":4,"title":"B","node_id":"I_2","user":{"id":2},"labels":[{"id":1,"name":"bug"},{"id":2,
            "name":"ui"}],
            "state":"open"}]
            """,
        shape: #"{"itemsAt":"","idAt":"/node_id"}"#, rows: 2),
    ForeignDocument(
        name: "cells of several kinds, one of them twice",
        json: """
            {"cells":[{"id":1,"type":"ad","x":1},{"id":2,"type":"story","x":2},{"id":3,"type":"story","x":3},
            {"id":2,"type":"story","x":2}]}
            """,
        shape: #"{"itemsAt":"/cells","idBy":"match","kindAt":"/type"}"#, rows: 4),
    ForeignDocument(
        name: "ids that are objects, beside tags that change",
        json: """
            {"items":[{"kind":"result","etag":"e1","id":{"kind":"video","videoId":"v1"},"snippet":{"channelId":"c1"}},
            {"kind":"result","etag":"e2","id":{"kind":"video","videoId":"v2"},"snippet":{"channelId":"c2"}}]}
            """,
        shape: #"{"itemsAt":"/items","idAt":"/id/videoId"}"#, rows: 2),
    ForeignDocument(
        name: "numbered members that are alike",
        json: #"{"users":{"u1":{"name":"Ada","age":1},"u2":{"name":"Bob"}}}"#,
        shape: #"{"itemsAt":"/users","map":true}"#,
        rows: 2),
    ForeignDocument(
        name: "a series of days beside a description",
        json: """
            {"Meta Data":{"1. Information":"Daily","2. Symbol":"IBM"},"Time Series (Daily)":{
            "2026-11-25":{"1. open":"1","4. close":"2"},"2026-11-24":{"1. open":"1","4. close":"2"}}}
            """,
        shape: #"{"itemsAt":"/Time Series (Daily)","map":true}"#, rows: 2),
    ForeignDocument(
        name: "two lists of different things, and lists of one that are no sections",
        json: """
            {"leagues":[{"id":"28","name":"NFL"}],"events":[{"id":"401","name":"A","parts":[{"id":"p1","of":"A"}]},
            {"id":"402","name":"B","parts":[{"id":"p2","of":"B"}]}]}
            """,
        shape: #"{"itemsAt":"/events","idAt":"/id"}"#, rows: 2),
    ForeignDocument(
        name: "tags in an envelope",
        json: #"{"ok":true,"tags":["swift","linux","lists"]}"#, shape: #"{"itemsAt":"/tags","idAt":""}"#, rows: 3),
    ForeignDocument(
        name: "rows without an id, whose titles are unique by accident",
        json: #"{"songs":[{"title":"A","plays":3,"rating":5},{"title":"B","plays":4,"rating":5}]}"#,
        shape: #"{"itemsAt":"/songs","idBy":"match"}"#, rows: 2),
    ForeignDocument(
        name: "a state of our own", json: #"{"content":{"title":"T"},"items":["a",{"id":"b","content":1}]}"#,
        shape: "{}",
        rows: 2),
]

// MARK: - Without a list

private let without = [
    ForeignDocument(
        name: "an error", json: #"{"error":{"code":404,"message":"Not found","details":[]},"request":{"id":"r1"}}"#,
        shape: nil),
    ForeignDocument(
        name: "the weather",
        json: """
            {"coord":{"lon":-0.13,"lat":51.51},"main":{"temp":280.3,"feels_like":278.9,"humidity":81},
            "wind":{"speed":4.1,
            "deg":80},"sys":{"country":"GB","sunrise":1485762037},"name":"London",
            "geometry":{"coordinates":[125.6,10.1]}}
            """,
        shape: nil),
    ForeignDocument(
        name: "a manifest",
        json: """
            {"name":"example","version":"1.0.0","scripts":{"test":"node --test","build":"make"},
            "dependencies":{"react":"^19",
            "lodash":"4"},"engines":{"node":">=22"}}
            """,
        shape: nil),
    ForeignDocument(name: "a list of which nothing is known", json: #"{"data":[]}"#, shape: nil),
    ForeignDocument(name: "a state without items", json: #"{"sections":[{"id":"a","items":[]}]}"#, shape: nil),
    ForeignDocument(name: "an empty array", json: "[]", shape: nil),
    ForeignDocument(name: "a number", json: "1", shape: nil),
    ForeignDocument(name: "null", json: " null ", shape: nil),
]
