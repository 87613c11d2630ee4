import Glibc

/// `diffserver check-lists FILE`: whether a server could start with `--lists FILE`, with the same variables.
struct CheckLists {
    let path: String

    /// What it takes, besides the file.
    static let options: [Option] = []

    /// Says what is wrong with the file, and ends with 1; or that nothing is, and ends with 0.
    func run(environment: @escaping (String) -> String?) -> Never {
        let file = read(environment)
        print("\(path): \(file.lists.count) \(file.lists.count == 1 ? "list" : "lists"), all well")
        exit(0)
    }

    private func read(_ environment: @escaping (String) -> String?) -> ListsFile {
        let json: [UInt8]
        do throws(Files.Failure) { json = try Files.read(path, atMost: ListsFile.maxBytes) } catch {
            fail("\(path): \(error.reason)")
        }
        do throws(ListsFileError) { return try ListsFile(json: json, environment: environment) } catch {
            end(1, saying: error.text(of: path))
        }
    }
}
