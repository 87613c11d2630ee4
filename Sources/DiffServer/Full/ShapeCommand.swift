import CDiffSystem
import DiffCommand
import DiffService
import SnapshotKit

/// `diffserver shape FILE|URL`: where the list seems to be in a JSON document.
struct ShapeCommand: Subcommand {
    private var list = SingleList()
    private var source = ""
    /// Of the type to print instead of shapes.
    private var language: RowLanguage?

    mutating func take(_ arguments: [String], environment: @escaping Environment) throws(UsageError) {
        let others = try read(arguments)
        guard others.count == 1 else { throw UsageError("shape takes one file or URL; \(Self.topic.pointer)") }
        source = others[0]
        guard source.isURL else { return }
        list.url = source
        _ = try list.file(environment: environment)
    }

    static let topic = Help.Topic.shape

    static func help(_ help: Help) -> String {
        """
        Usage: diffserver shape [OPTION…] FILE|URL

        Prints where the list seems to be in a JSON document: as parameters of a request, as the "shape" of a session or
        of a list, and in the request that posts it. - means standard input. Exit status 1 if there is no list.

        \(help.options(ShapeCommand.groups))
        Examples:

          diffserver shape answer.json
          diffserver shape https://example.org/fires
          diffserver shape --types swift https://example.org/fires >Row.swift

        """
    }

    static let groups = [
        OptionGroup<Self>(options: [
            .value(
                "--types", "ts|swift|kotlin",
                "print the type Row of the rows' contents instead: optional is what some rows lack or have as null",
                "is not ts, swift or kotlin", \.language
            ) { RowLanguage(rawValue: $0).map(Optional.some) },
            .headers(\.list.headers),
        ])
    ]

    func run(environment: @escaping Environment) throws(UsageError) -> Never {
        var document = StateDocument(try read(environment))
        let guesses: [ShapeGuess]
        do throws(StateError) { guesses = try document.shapes() } catch { fail("\(source): \(error.words)") }
        guard let best = guesses.first else {
            fail("\(source): \(Self.reason(document)); docs/api/shapes.md says how to name a list's place")
        }
        if let language { tell(language, best.shape, &document) }
        print(best.words)
        print("  query:  \(best.shape == .native ? "none: it can be posted as it is" : best.shape.query)")
        print("  shape:  \(best.shape.json)")
        print("  post:   \(curl(best.shape))")
        for guess in guesses.dropFirst() {
            print("or \(guess.words)")
            print("  query:  \(guess.shape.query)")
        }
        fflush(nil)
        end(0)
    }

    private func tell(_ language: RowLanguage, _ shape: StateShape, _ document: inout StateDocument) -> Never {
        guard let reading = try? document.state(shape, limits: StateLimits()), let type = RowType(of: reading.snapshot)
        else { fail("\(source): its rows have ids alone, and no contents to have a type") }
        guard let code = type.code(in: language) else {
            fail("\(source): the contents of its rows do not tell one type")
        }
        print(lines: code)
        fflush(nil)
        end(0)
    }

    private static func reason(_ document: consuming StateDocument) -> String {
        do throws(StateError) {
            // Ids that repeat are a fault of a state, and of a list without ids they are none.
            if try !document.listShapes(StateLimits()).isEmpty {
                _ = try document.state(.native, limits: StateLimits())
            }
        } catch { return error.words }
        return "it has no elements yet, of which a shape could be guessed"
    }

    private func read(_ environment: @escaping Environment) throws(UsageError) -> [UInt8] {
        list.url.isEmpty ? Files.readOrFail(source) : try list.fetch(environment: environment).body
    }

    private func curl(_ shape: StateShape) -> String {
        let (input, file) = list.url.isEmpty ? ("", source) : ("curl -s \(shellWord(source)) | ", "-")
        let query = shape == .native ? "" : "?\(shape.query)"
        let url = "http://127.0.0.1:8080/v1/sessions/list/changes\(query)"
        return "\(input)curl --data-binary \(shellWord("@\(file)")) '\(url)'"
    }
}

extension ShapeGuess {
    var words: String {
        let count = "\(rows) \(rows == 1 ? "row" : "rows")"
        return sections == 1 ? "\(count)" : "\(count) in \(sections) sections"
    }
}

extension StateShape {
    var json: String {
        var writer = JSONWriter()
        write(into: &writer)
        return String(decoding: writer.bytes(), as: UTF8.self)
    }

    var flags: String {
        essentials.map { member, value in
            member == .map ? member.flag : "\(member.flag) \(shellWord(value))"
        }.joined(separator: " ")
    }
}
