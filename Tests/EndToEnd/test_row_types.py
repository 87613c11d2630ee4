"""`diffserver shape --types`: the type of a list's rows, which takes the rows that it was made from, compiled in each language."""

import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from support.upstream import Upstream
from test_command_line import command

ORDERS = {"orders": [
    {"id": 1, "state": "open", "total": 3, "paid": False, "customer": {"name": "Ann", "address": {"city": "Bern", "zip": None}},
     "lines": [{"sku": "a", "count": 1}, {"sku": "b", "count": 2, "note": "gift"}], "tags": ["x"], "grid": [[1, 2], [0.5]], "first-name": "A"},
    {"id": 2, "state": "shut", "total": 3.5, "paid": True, "customer": {"name": "Bob", "address": None}, "lines": [], "tags": [],
     "grid": [], "first-name": "B", "closed": "2024-01-01"}]}

TS = """export type Row = {
  id: number;
  state: string;
  total: number;
  paid: boolean;
  customer: {
    name: string;
    address: {
      city: string;
      zip: unknown;
    } | null;
  };
  lines: {
    sku: string;
    count: number;
    note?: string;
  }[];
  tags: string[];
  grid: number[][];
  "first-name": string;
  closed?: string;
};
"""
SWIFT = """struct Row: Codable, Hashable, Sendable {
    var id: Int
    var state: String
    var total: Double
    var paid: Bool
    var customer: Customer
    var lines: [Line]
    var tags: [String]
    var grid: [[Double]]
    var firstName: String
    var closed: String?

    struct Customer: Codable, Hashable, Sendable {
        var name: String
        var address: Address?

        struct Address: Codable, Hashable, Sendable {
            var city: String
            // Left out, since its values do not tell one type: "zip"
        }
    }

    struct Line: Codable, Hashable, Sendable {
        var sku: String
        var count: Int
        var note: String?
    }

    enum CodingKeys: String, CodingKey {
        case id
        case state
        case total
        case paid
        case customer
        case lines
        case tags
        case grid
        case firstName = "first-name"
        case closed
    }
}
"""
KOTLIN = """import kotlinx.serialization.SerialName
import kotlinx.serialization.Serializable
import kotlinx.serialization.json.JsonElement

@Serializable
data class Row(
    val id: Long,
    val state: String,
    val total: Double,
    val paid: Boolean,
    val customer: Customer,
    val lines: List<Line>,
    val tags: List<String>,
    val grid: List<List<Double>>,
    @SerialName("first-name") val firstName: String,
    val closed: String? = null
) {
    @Serializable
    data class Customer(
        val name: String,
        val address: Address? = null
    ) {
        @Serializable
        data class Address(
            val city: String,
            val zip: JsonElement? = null
        )
    }

    @Serializable
    data class Line(
        val sku: String,
        val count: Long,
        val note: String? = null
    )
}
"""

# What a document may have and a language does not take as it is, each with the rows' contents.
WORDS = """self Self init Type Protocol class struct default in is as var val fun func let when object null true nil super import enum case
    String Int Double Bool Boolean Long List Row CodingKeys CodingKey Codable Companion JsonElement Any hash description copy component1
    getClass constructor prototype toString""".split()
DOCUMENTS = {
    "orders": ORDERS["orders"],
    "words": [dict.fromkeys(WORDS, 1)],
    "objects": [{name: {name: {"x": 1}} for name in WORDS}],
    "arrays": [{f"{name}s": [{"x": 1}, {"y": 2}] for name in WORDS}],
    "names": [{name: 1 for name in (
        "", " ", "_", "__", "1st", "3ds", "a-b", "aB", "a b", "a.b", "$ref", "@type", "#text", "é", "日本", "😀", "quote\"", "back\\",
        "a\nb", "tab\t", "\u2028", "\u200b", "\u0000", "${x}", "\\(x)", "*/", "`", "A", "a", "ß", "İ", "\u3164")}],
    "kinds": [{"a": 1, "b": [], "c": [1, "x"], "d": None, "e": {}, "f": [None, 1], "g": [[]], "h": 1e3, "i": 2**63, "j": [{"k": 1}, None]},
              {"a": "x", "b": [], "c": [], "d": None, "e": {}, "f": [2], "g": [[]], "h": 1, "i": 1, "j": []}],
    "combining": [{"e\u0301": 1}], "texts": ["a", "b"], "numbers": [1, 2.5, None], "lists": [[{"a": 1}], [{"a": 2, "b": "x"}]], "empty": [{}, {}],
}


def state(contents):
    return [{"id": f"row-{number}", "content": content} for number, content in enumerate(contents)]


class RowTypes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)

    def type_of(self, document, language):
        ran = command("shape", "--types", language, "-", text=json.dumps(document))
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertTrue(all(line.isprintable() for line in ran.stdout.splitlines()))
        return ran.stdout

    def codes(self, language):
        return {name: self.type_of(state(contents), language) for name, contents in DOCUMENTS.items()}

    def compile(self, name, text, *words):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        ran = subprocess.run([*words, path.name], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, f"{ran.stdout}\n{ran.stderr[:10000]}")

    def test_a_type_reads_like_the_document(self):
        for language, code in (("ts", TS), ("swift", SWIFT), ("kotlin", KOTLIN)):
            self.assertEqual(self.type_of(ORDERS, language), code)

    def test_the_document_comes_from_a_file_or_an_address_as_well(self):
        path = self.folder / "orders.json"
        path.write_text(json.dumps(ORDERS), encoding="utf-8")
        upstream = Upstream()
        self.addCleanup(upstream.close)
        upstream.set("/orders", ORDERS)
        for source in (str(path), upstream.url + "/orders"):
            self.assertEqual(command("shape", source, "--types=ts").stdout, TS)

    def test_children_count_and_sections_too(self):
        document = {"sections": [{"id": "s", "items": [{"id": 1, "content": {"a": 1}, "items": [{"id": 2, "content": {"b": 2}}]}]},
                                 {"id": "t", "items": [{"id": 3}]}]}
        self.assertEqual(self.type_of(document, "ts"), "export type Row = {\n  a?: number;\n  b?: number;\n};\n")

    def test_what_has_no_type_says_so(self):
        for document, language, fault in (
                (["a", "b"], "ts", "-: its rows have ids alone, and no contents to have a type"),
                ([], "swift", None), (state([1, "a"]), "swift", "-: the contents of its rows do not tell one type"),
                (state([[]]), "swift", "-: the contents of its rows do not tell one type")):
            ran = command("shape", "--types", language, "-", text=json.dumps(document))
            self.assertEqual((ran.returncode, ran.stdout), (1, ""))
            if fault:
                self.assertEqual(ran.stderr, f"diffserver: {fault}\n")
        ran = command("shape", "--types", "c", "-", text="[]")
        self.assertEqual((ran.returncode, ran.stderr), (2, 'diffserver: --types: "c" is not ts, swift or kotlin\n'))

    def test_typescript_takes_the_rows(self):
        parts = [f"namespace {name} {{\n{code}export const rows: Row[] = {json.dumps(DOCUMENTS[name])};\n}}\n"
                 for name, code in self.codes("ts").items()]
        self.compile("rows.ts", "".join(parts), "tsc", "--noEmit", "--strict", "--target", "es2020")
        with self.assertRaises(AssertionError):
            self.compile("wrong.ts", f"{TS}const row: Row = {json.dumps(ORDERS['orders'][0] | {'id': 'x'})};\n",
                         "tsc", "--noEmit", "--strict", "--target", "es2020")

    def test_swift_takes_the_rows_and_gives_them_back(self):
        codes, parts, calls = self.codes("swift"), [], []
        for name, code in codes.items():
            parts.append(f"enum {name} {{\n{code}}}\n")
            contents = [content for content in DOCUMENTS[name] if content is not None]
            calls.append(f'try check("{name}", {name}.Row.self, {json.dumps(json.dumps(contents, ensure_ascii=True))})\n')
        check = """import Foundation
            func check<Row: Codable>(_ name: String, _ type: Row.Type, _ json: String) throws {
                let rows = try JSONDecoder().decode([Row].self, from: Data(json.utf8))
                let encoder = JSONEncoder()
                encoder.outputFormatting = [.withoutEscapingSlashes]
                print(String(decoding: try encoder.encode([name: rows]), as: UTF8.self))
            }
            """
        self.compile("main.swift", check + "".join(parts) + "".join(calls), "swiftc", "-o", "main", "-warnings-as-errors")
        ran = subprocess.run([self.folder / "main"], capture_output=True, text=True, check=True)
        given = {}
        for line in ran.stdout.strip().split("\n"):
            given |= json.loads(line)

        def kept(value, code):
            """A value without what the type leaves out."""
            if isinstance(value, list):
                return [kept(each, code) for each in value]
            if isinstance(value, dict):
                left_out = re.findall(r'// Left out, .*: "(.*)"', code)
                return {name: kept(each, code) for name, each in value.items() if each is not None and name not in left_out}
            return value
        for name, contents in DOCUMENTS.items():
            self.assertEqual(given[name], kept([each for each in contents if each is not None], codes[name]), name)

    @unittest.skipUnless(shutil.which("kotlinc"), "there is no kotlinc")
    def test_kotlin_takes_it(self):
        annotations = "".join(f"annotation class {name}\n" for name in ("Serializable", "SerialName(val value: String)"))
        (self.folder / "Annotations.kt").write_text(f"package kotlinx.serialization\n{annotations}", encoding="utf-8")
        (self.folder / "Json.kt").write_text("package kotlinx.serialization.json\nclass JsonElement\n", encoding="utf-8")
        codes = self.codes("kotlin")
        imports = sorted({line for code in codes.values() for line in code.splitlines() if line.startswith("import ")})
        parts = [f"object {name} {{\n{re.sub('^import .*$', '', code, flags=re.MULTILINE)}}}\n" for name, code in codes.items()
                 if "typealias" not in code]
        self.compile("Rows.kt", "\n".join([*imports, *parts]), "kotlinc", "-nowarn", "-d", "rows.jar", "Annotations.kt", "Json.kt")
