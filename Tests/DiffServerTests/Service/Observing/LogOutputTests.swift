import CDiffSystem
import FoundationEssentials
import Testing

@testable import DiffService

@Suite struct LogOutputTests {
    @Test func `what nobody reads is dropped and counted, and the rest comes in order`() throws {
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        let output = LogOutput(descriptor: ends[1])
        func line(_ number: Int) -> [UInt8] { Array("line \(number) \(String(repeating: "x", count: 990))\n".utf8) }
        func append(_ number: Int) {
            output.append(line(number)) { $0.map { Array("missing \($0)\n".utf8) } ?? Array("begins\n".utf8) }
        }
        let count = 3 * LogOutput.maxWaitingBytes / 1000
        // This many do not fit into the pipe. Once it is full they are being written, and the others wait in the
        // buffer.
        for number in 0..<200 { append(number) }
        var end = pollfd(fd: ends[1], events: Int16(POLLOUT), revents: 0)
        #expect(eventually { poll(&end, 1, 0) == 0 })
        for number in 200..<count { append(number) }
        let dropped = output.dropped
        #expect(dropped > count / 2 && dropped < count)

        // Once somebody reads there is room again.
        var text = ""
        func read(until end: String) {
            var room = [UInt8](repeating: 0, count: 1 << 16)
            while !text.hasSuffix(end) {
                let length = CDiffSystem.read(ends[0], &room, room.count)
                guard length > 0 else { return }
                text += String(decoding: room[..<length], as: UTF8.self)
            }
        }
        read(until: "missing \(dropped)\n")
        append(count)
        read(until: String(decoding: line(count), as: UTF8.self))
        output.flush()
        let words = text.split(separator: "\n").map { $0.split(separator: " ").prefix(2).joined(separator: " ") }
        let kept = count - dropped
        #expect(words == (0..<kept).map { "line \($0)" } + ["begins", "missing \(dropped)", "line \(count)"])
        #expect(output.dropped == dropped)
        close(ends[0])
    }

    @Test func `a file that is moved or removed is left, and one that is emptied is filled from its start`() throws {
        var template = Array("/tmp/diffserver-log-XXXXXX".utf8CString)
        #expect(mkdtemp(&template) != nil)
        let folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let (path, moved) = (folder + "/log", folder + "/log.1")
        defer { for each in [path, moved] { unlink(each) }; rmdir(folder) }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o640)
        defer { close(descriptor) }
        let file = try #require(LogFile(descriptor: descriptor))
        func say(_ text: String) { write(descriptor, text, text.utf8.count) }
        func content(_ path: String) -> String {
            (try? String(contentsOfFile: path, encoding: .utf8)) ?? "-"
        }
        say("one ")
        #expect(!file.follow())
        rename(path, moved)
        say("two ")
        #expect(file.follow() && !file.follow())
        say("three ")
        #expect(content(moved) == "one two " && content(path) == "three ")
        unlink(path)
        #expect(file.follow())
        say("four ")
        #expect(content(path) == "four ")
        truncate(path, 0)
        #expect(!file.follow())
        say("five ")
        #expect(content(path) == "five ")
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o640)
        // Nothing can be opened without the folder: the open file stays.
        unlink(path)
        rmdir(folder)
        unlink(moved)
        rmdir(folder)
        #expect(!file.follow())
        say("lost")
    }

    @Test func `what is no file has no path`() {
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        #expect(LogFile(descriptor: ends[1]) == nil)
        #expect(LogFile(descriptor: 9999) == nil)
        ends.forEach { close($0) }
    }
}
