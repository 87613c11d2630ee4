extension ForeignDocument {
    /// Documents that were misread once, and others of their kinds.
    static let misread = ids + measures + nested + wrapped

    fileprivate init(_ name: String, _ json: String, _ shape: String?, _ rows: Int = 0, _ sections: Int = 1) {
        self.init(name: name, json: json, shape: shape, rows: rows, sections: sections)
    }
}

/// Elements by a member, each from its number.
private func rows(_ count: Int, _ element: (Int) -> String) -> String {
    "[\((0..<count).map(element).joined(separator: ","))]"
}

/// Each element is matched with those before it.
private let matched = #"{"itemsAt":"","idBy":"match"}"#

// MARK: - Members that are ids

private let ids = [
    ForeignDocument(
        "a list of tokens, whose symbols are unique by accident",
        """
        {"name":"Default","tokens":[
        {"chainId":1,"address":"0xa1","name":"Dai","symbol":"DAI","decimals":18,"logoURI":"ipfs://1"},
        {"chainId":1,"address":"0xb2","name":"Litentry","symbol":"LIT","decimals":18,"logoURI":"ipfs://2"}]}
        """,
        #"{"itemsAt":"/tokens","idAt":"/address"}"#, 2),
    ForeignDocument(
        "tokens of several chains: two members that say id",
        rows(40) { #"{"chainId":\#($0 % 4),"address":"0x\#($0 / 4)a","decimals":18}"# },
        #"{"itemsAt":"","idAt":["/chainId","/address"]}"#, 40),
    ForeignDocument(
        "conversations by their last message, which is another at each answer",
        rows(5) {
            #"{"user":"u\#($0)","lastMessageId":\#($0),"createdById":\#($0 + 9),"apiKey":"k\#($0)","text":"x"}"#
        },
        #"{"itemsAt":"","idBy":"match"}"#, 5),
    ForeignDocument(
        "members of many rooms: two numbers that say id",
        rows(160) { #"{"roomId":\#($0 / 8),"userId":\#($0 % 8),"role":"guest"}"# },
        #"{"itemsAt":"","idAt":["/roomId","/userId"]}"#, 160),
    ForeignDocument(
        "members of two rooms, of which two members may be unique together by accident",
        rows(4) { #"{"roomId":\#($0 / 2),"userId":\#($0 % 2),"role":"guest"}"# },
        #"{"itemsAt":"","idBy":"match"}"#, 4),
    ForeignDocument(
        "ranges of addresses, of which two members are unique together",
        rows(160) { #"{"ip_prefix":"3.\#($0 / 2).0.0/15","region":"eu","service":"\#(["S3", "EC2"][$0 % 2])","n":1}"# },
        #"{"itemsAt":"","idAt":["/ip_prefix","/service"]}"#, 160),
    ForeignDocument(
        "statistics by name, of which each has members of its own",
        "{"
            + "abcdefghijkl".map { #""plugin\#($0)":{"downloads":7,"1.\#($0)":3,"2.\#($0)":4,"3.\#($0)":5}"# }
            .joined(separator: ",") + "}",
        #"{"itemsAt":"","map":true}"#, 12),
    ForeignDocument(
        "paths, each with what it allows",
        #"{"paths":{"/a":{"get":{"x":1}},"/b":{"post":{"x":1}},"/c":{"delete":{"x":1}}}}"#,
        #"{"itemsAt":"/paths","map":true}"#, 3),
    ForeignDocument(
        "orders by number", #"[{"orderNo":1,"name":"Ada"},{"orderNo":2,"name":"Bob"}]"#,
        #"{"itemsAt":"","idAt":"/orderNo"}"#, 2),
    ForeignDocument(
        "orders by a longer number", #"[{"orderNumber":1,"name":"Ada"},{"orderNumber":2,"name":"Bob"}]"#,
        #"{"itemsAt":"","idAt":"/orderNumber"}"#, 2),
    ForeignDocument(
        "orders by id", #"[{"order_id":1,"name":"Ada"},{"order_id":2,"name":"Bob"}]"#,
        #"{"itemsAt":"","idAt":"/order_id"}"#, 2),
    ForeignDocument(
        "pages with measures", #"[{"price":3,"score":7,"url":"/a"},{"price":4,"score":8,"url":"/b"}]"#,
        #"{"itemsAt":"","idAt":"/url"}"#, 2),
    ForeignDocument(
        "products", #"[{"title":"A","itemCode":"x1","n":1},{"title":"B","itemCode":"x2","n":2}]"#,
        #"{"itemsAt":"","idAt":"/itemCode"}"#, 2),
    ForeignDocument(
        "parts", #"[{"part-no":7,"n":1},{"part-no":8,"n":2}]"#, #"{"itemsAt":"","idAt":"/part-no"}"#, 2),
    ForeignDocument(
        "articles", #"[{"slug":"a-b","views":1},{"slug":"c-d","views":2}]"#, #"{"itemsAt":"","idAt":"/slug"}"#, 2),
    ForeignDocument(
        "a number of its own, and another's id", #"[{"number":5,"userId":1},{"number":6,"userId":1}]"#,
        #"{"itemsAt":"","idAt":"/number"}"#, 2),
    ForeignDocument(
        "quotes by symbol", #"{"quotes":[{"symbol":"A","bid":101,"ask":102},{"symbol":"B","bid":99,"ask":98}]}"#,
        #"{"itemsAt":"/quotes","idAt":"/symbol"}"#, 2),
    ForeignDocument(
        "names, last of all", #"[{"name":"A","size":1},{"name":"B","size":2}]"#, #"{"itemsAt":"","idAt":"/name"}"#, 2),
    ForeignDocument(
        "a name, and a code", #"[{"name":"A","code":"a"},{"name":"B","code":"b"}]"#,
        #"{"itemsAt":"","idAt":"/code"}"#, 2),
    ForeignDocument(
        "ids of mixed spelling", #"{"data":[{"_id":"5f","n":1},{"_id":6,"n":1}]}"#,
        #"{"itemsAt":"/data","idAt":"/_id"}"#, 2),
]

// MARK: - Members that are none

private let measures = [
    ForeignDocument(
        "the weather in cities", #"[{"city":"Bern","temp":3},{"city":"Rome","temp":12},{"city":"Bern","temp":-4}]"#,
        matched, 3),
    ForeignDocument(
        "the weather in different cities", #"[{"city":"Bern","temp":3},{"city":"Rome","temp":12}]"#, matched, 2),
    ForeignDocument(
        "weather by code", #"[{"city":"Bern","weather_code":3},{"city":"Rome","weather_code":1}]"#, matched, 2),
    ForeignDocument(
        "departures",
        #"""
        [{"line":"U2","destination":"Pankow","minutes":3},{"line":"U2","destination":"Ruhleben",
        "minutes":7},{"line":"U8","destination":"Pankow","minutes":9}]
        """#,
        matched, 3),
    ForeignDocument(
        "departures by ids of others, and times",
        #"""
        [{"lineId":"U2","stopId":"P","time":"08:15"},{"lineId":"U2","stopId":"R","time":"08:17"},{
        "lineId":"U8","stopId":"P","time":"08:19"}]
        """#,
        matched, 3),
    ForeignDocument(
        "a leaderboard",
        #"""
        [{"player":"Ann","score":3},{"player":"Bob","score":5},{"player":"Ann","score":9}]
        """#, matched,
        3),
    ForeignDocument("titles that repeat", #"[{"title":"x","likes":4},{"title":"x","likes":9}]"#, matched, 2),
    ForeignDocument(
        "a log", #"{"lines":[{"text":"hello"},{"text":"hello"}]}"#, #"{"itemsAt":"/lines","idBy":"match"}"#, 2),
    ForeignDocument("days", #"[{"date":"2026-11-25","close":1},{"date":"2026-11-26","close":2}]"#, matched, 2),
    ForeignDocument("prices", #"{"data":[{"price":1.5},{"price":2.5}]}"#, #"{"itemsAt":"/data","idBy":"match"}"#, 2),
    ForeignDocument("bids", #"[{"bid":101,"ask":102},{"bid":99,"ask":100}]"#, matched, 2),
    ForeignDocument("ids of parents", #"[{"parentId":1,"t":"a"},{"parentId":2,"t":"b"}]"#, matched, 2),
    ForeignDocument("positions", #"[{"rank":1,"team":"a"},{"rank":2,"team":"b"}]"#, matched, 2),
    ForeignDocument(
        "elements of which one has no id", #"[{"id":1,"n":1},{"n":2},{"id":3,"n":3}]"#, matched, 3),
    ForeignDocument(
        "elements of which two have one id", #"[{"id":1,"n":1},{"id":1,"n":2},{"id":3,"n":3}]"#, matched, 3),
    ForeignDocument(
        "texts that repeat", #"{"votes":["a","b","a"]}"#, #"{"itemsAt":"/votes","idBy":"match"}"#, 3),
    ForeignDocument(
        "a table with its header apart", #"{"columns":["id"],"rows":[[1,"a"],[2,"b"]]}"#,
        #"{"itemsAt":"/rows","idBy":"match"}"#, 2),
    ForeignDocument("a table", #"[["id","name"],[1,"a"],[2,"b"]]"#, matched, 3),
]

// MARK: - Sections and outlines

private let nested = [
    ForeignDocument(
        "videos in sections, which share names with them",
        #"""
        [{"id":"S1","title":"SwiftUI","videos":[{"id":"V1","title":"a","lessonCount":3},{"id":"V2",
        "title":"b","lessonCount":3}]},{"id":"S2","title":"UIKit","videos":[{"id":"V3","title":"c",
        "lessonCount":4}]}]
        """#,
        #"{"sectionsAt":"","sectionIdAt":"/id","itemsAt":"/videos","idAt":"/id"}"#, 3, 2),
    ForeignDocument(
        "sections of one video each",
        #"""
        [{"id":"S1","title":"SwiftUI","videos":[{"id":"V1","title":"a","lessonCount":3}]},{"id":"S2",
        "title":"UIKit","videos":[{"id":"V3","title":"c","lessonCount":4}]}]
        """#,
        #"{"sectionsAt":"","sectionIdAt":"/id","itemsAt":"/videos","idAt":"/id"}"#, 2, 2),
    ForeignDocument(
        "timers in sections that can be folded",
        #"""
        [{"id":"A","title":"Home","isExpanded":true,"timers":[{"id":"t1","title":"Egg"},{"id":"t2",
        "title":"Tea"}]},{"id":"B","title":"Work","isExpanded":false,"timers":[{"id":"t3","title":"Nap"}]}]
        """#,
        #"{"sectionsAt":"","sectionIdAt":"/id","itemsAt":"/timers","idAt":"/id","sectionExpandedAt":"/isExpanded"}"#, 2,
        2),
    ForeignDocument(
        "sections of one row each that can be folded",
        #"""
        {"sections":[{"id":"A","title":"x","isExpanded":true,"videos":[{"id":1,"n":1}]},
        {"id":"B","title":"y","isExpanded":false,"videos":[{"id":2,"n":1}]}]}
        """#,
        #"""
        {"sectionsAt":"/sections","sectionIdAt":"/id","itemsAt":"/videos","idAt":"/id",
        "sectionExpandedAt":"/isExpanded"}
        """#, 1, 2),
    ForeignDocument(
        "cards that refer to the columns of a board",
        #"""
        {"columns":[{"id":1,"name":"x"},{"id":2,"name":"y"}],"cards":[{"id":11,"column_id":1,"t":"q"},
        {"id":12,"column_id":2,"t":"r"},{"id":13,"column_id":2,"t":"s"}]}
        """#,
        #"{"sectionsAt":"/columns","itemsAt":"/cards","groupAt":"/column_id","idAt":"/id"}"#, 3, 2),
    ForeignDocument(
        "columns of measures by time",
        #"""
        {"latitude":52.5,"hourly":{"time":["2025-01-01T00:00","2025-01-01T01:00"],"temperature_2m":[3.1,4.2]}}
        """#, nil),
    ForeignDocument(
        "timers that refer to their sections",
        #"{"sections":[{"id":"B","isExpanded":true}],"timers":[{"id":"t","sectionID":"B"}]}"#,
        #"""
        {"sectionsAt":"/sections","itemsAt":"/timers","groupAt":"/sectionID",
        "sectionExpandedAt":"/isExpanded","idAt":"/id"}
        """#,
        1),
    ForeignDocument(
        "cards that refer to their lists",
        #"""
        {"cards":[{"id":"c1","idList":"l2"},{"id":"c2","idList":"l1"}],"lists":[{"id":"l1","name":"To do"},{
        "id":"l2","name":"Done"},{"id":"l3","name":"Never"}]}
        """#,
        #"{"sectionsAt":"/lists","itemsAt":"/cards","groupAt":"/idList","idAt":"/id"}"#, 2, 3),
    ForeignDocument(
        "posts beside what they refer to",
        #"""
        {"data":[{"id":"1","author_id":"7","text":"a"},{"id":"2","author_id":"8","text":"b"}],"includes":{
        "authors":[{"id":"7","name":"Ada"},{"id":"8","name":"Bob"}]}}
        """#,
        #"{"itemsAt":"/data","idAt":"/id"}"#, 2),
    ForeignDocument(
        "lists in a list", #"[[{"id":1,"t":"x"},{"id":2,"t":"y"}],[{"id":3,"t":"z"}]]"#,
        #"{"sectionsAt":"","itemsAt":"","map":true,"idAt":"/id"}"#, 3, 2),
    ForeignDocument(
        "the same things in two sections",
        #"""
        [{"title":"Popular","items":[{"id":1,"t":"x"},{"id":2,"t":"y"}]},{"title":"Latest","items":[{"id":2,
        "t":"y"},{"id":3,"t":"z"}]}]
        """#,
        #"{"sectionsAt":"","sectionIdAt":"/title","itemsAt":"/items","idAt":"/id","idScope":"section"}"#, 4, 2),
    ForeignDocument(
        "releases by version",
        rows(4) { version in
            let files = rows(2) { #"{"filename":"p-\#(version)-\#($0).tgz","arch":"x64","platform":"p\#($0)"}"# }
            return #"{"version":"3.\#(version).0","release_url":"https://x/\#(version * 77)","files":\#(files)}"#
        },
        #"{"sectionsAt":"","sectionIdAt":"/version","itemsAt":"/files","idAt":"/filename"}"#, 8, 4),
    ForeignDocument(
        "games by day, without ids",
        #"""
        [{"date":"2026-11-25","games":[{"home":"A","goals":1},{"home":"B","goals":1},{"home":"A",
        "goals":2}]},{"date":"2026-11-26","games":[{"home":"C","goals":1}]}]
        """#,
        #"{"sectionsAt":"","sectionIdAt":"/date","itemsAt":"/games","idBy":"match"}"#, 4, 2),
    ForeignDocument(
        "stops by line, whose numbers are keys",
        #"{"lines":{"7":[{"stop":"Harbour","min":2},{"stop":"Hill","min":5}],"12":[{"stop":"Harbour","min":4}]}}"#,
        #"{"sectionsAt":"/lines","itemsAt":"","map":true,"idAt":"/stop","idScope":"section"}"#, 3, 2),
    ForeignDocument(
        "alerts by region",
        #"""
        {"alerts":{"109092000":[{"state":"BY","headline":"Frost"}],"109093000":[{"state":"BY","headline":"Wind"}]}}
        """#,
        #"{"sectionsAt":"/alerts","itemsAt":"","map":true,"idAt":"/headline"}"#, 2, 2),
    ForeignDocument(
        "an outline that can be folded",
        #"[{"id":1,"open":true,"children":[{"id":2,"open":null,"children":[{"id":3,"open":false,"children":[]}]}]}]"#,
        #"{"itemsAt":"","idAt":"/id","childrenAt":"/children","expandedAt":"/open"}"#, 3),
]

// MARK: - Elements around what they are about

private let wrapped = [
    ForeignDocument(
        "hits of a search, each around what was found",
        #"""
        [{"score":0.9,"show":{"id":139,"name":"Girls","type":"Scripted"}},{"score":0.7,"show":{"id":235,"name":
        "Good Girls","type":"Scripted"}}]
        """#,
        #"{"itemsAt":"","idAt":"/show/id"}"#, 2),
    ForeignDocument(
        "a playlist, whose tracks were added by somebody",
        #"""
        {"items":[{"added_at":"2026-11-01T10:00:00Z","added_by":{"id":"ann"},"is_local":false,"track":{"id":"t1","name":
        "A","artists":[{"id":"x"}],"album":{"id":"a1","name":"AA"},"duration_ms":1000}},{"added_at":
        "2026-11-02T10:00:00Z","added_by":{"id":"bob"},"is_local":false,
        "track":{"id":"t2","name":"B","artists":[{"id":"x"}],
        "album":{"id":"a1","name":"AA"},"duration_ms":2000}}]}
        """#,
        #"{"itemsAt":"/items","idAt":"/track/id"}"#, 2),
    ForeignDocument(
        "packages and how well they were found",
        #"""
        {"objects":[{"package":{"name":"yargs","version":"6.6.0","links":{"npm":"https://x/yargs"}},"score":{"final":
        0.92},"searchScore":10.9},{"package":{"name":"webpack","version":"2.1.0","links":{"npm":"https://x/webpack"}},
        "score":{"final":0.91},"searchScore":0.1}]}
        """#,
        #"{"itemsAt":"/objects","idAt":"/package/name"}"#, 2),
    ForeignDocument(
        "cells of several kinds, each with its content",
        #"""
        [{"type":"card","payload":{"id":1,"title":"A card to tap"}},{"type":"ad","payload":{"id":2,"title":"Tea"}}]
        """#,
        #"{"itemsAt":"","idAt":"/payload/id","kindAt":"/type"}"#, 2),
    ForeignDocument(
        "messages, which are not about who wrote them",
        #"""
        [{"text":"hi","user":{"id":1,"name":"Ann","avatar":"https://x/ann.png"}},{"text":"ho","user":{"id":2,"name":
        "Bob","avatar":"https://x/bob.png"}}]
        """#,
        matched, 2),
    ForeignDocument(
        "HAL: resources that link to themselves",
        #"""
        {"_links":{"self":{"href":"/orders"}},"_embedded":{"ea:order":[
        {"_links":{"ea:basket":{"href":"/baskets/9"},"self":{"href":"/orders/123"}},"total":30.00,"status":"shipped"},
        {"_links":{"ea:basket":{"href":"/baskets/8"},"self":{"href":"/orders/124"}},"total":20.00,"status":"new"}]}}
        """#,
        #"{"itemsAt":"/_embedded/ea:order","idAt":"/_links/self/href"}"#, 2),
    ForeignDocument(
        "accounts by a number that all banks use",
        #"{"accounts":[{"iban":"DE1","name":"Giro","balance":1.5},{"iban":"DE2","name":"Savings","balance":2.5}]}"#,
        #"{"itemsAt":"/accounts","idAt":"/iban"}"#, 2),
    ForeignDocument(
        "goods by the number under their bars",
        #"{"items":[{"ean":"4006381333931","title":"Pen","stock":3},{"ean":"4006381333948","title":"Ink","stock":5}]}"#,
        #"{"itemsAt":"/items","idAt":"/ean"}"#, 2),
    ForeignDocument(
        "a folder of folders and files",
        #"""
        {"name":"root","children":[{"name":"a","type":"dir","children":[{"name":"b","type":"file"},{"name":"c",
        "type":"file"}]},{"name":"d","type":"file"}]}
        """#,
        #"{"itemsAt":"/children","idAt":"/name","childrenAt":"/children","kindAt":"/type"}"#, 4),
    ForeignDocument(
        "GraphQL connections in nodes of others",
        #"""
        {"data":{"pulls":{"edges":[{"cursor":"Y1","node":{"id":"PR_1","number":1,"title":"a","reviews":{"edges":[
        {"node":{"id":"R1"}}]}}},{"cursor":"Y2","node":{"id":"PR_2","number":2,"title":"b","reviews":{"edges":[]}}}]}}}
        """#,
        #"{"itemsAt":"/data/pulls/edges","idAt":"/node/id"}"#, 2),
]
