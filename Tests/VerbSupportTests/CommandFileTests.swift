import Processes
import Settings
import Terminal
import Testing

@testable import VerbSupport

/// Files and templates that the command line names.
@Suite struct CommandFileTests {
  @Test func readsAFileOfABoundedSize() throws {
    let directory = try ScratchDirectory("command-file")
    let path = try directory.write("hello", to: "a")
    #expect(try CommandFile.read(path, maximumBytes: 5).text == "hello")
    let failure = #expect(throws: CommandFailure.self) {
      _ = try CommandFile.read(path, maximumBytes: 4)
    }
    #expect(failure?.code == .failed)
  }

  /// As curl takes them.
  @Test(arguments: [#"{"aps":{}}"#, "@f.json"])
  func aTextInThePlaceOfAFileIsNamed(_ path: String) {
    let failure = #expect(throws: CommandFailure.self) {
      _ = try CommandFile.text(path, maximumBytes: 100)
    }
    #expect(failure?.message.contains("name a file, or - for standard input") == true)
  }

  @Test func linesAreReadFromAnyThread() async throws {
    let directory = try ScratchDirectory("command-lines")
    let path = try directory.write("a\nb\n", to: "rows")
    let lines = try SharedLines(path, maximumLineBytes: 10, until: StopSignals.catchAll())
    let (first, second) = try await (
      Task.detached { try lines.next() }.value, Task.detached { try lines.next() }.value
    )
    guard case .text(let one)? = first, case .text(let two)? = second else {
      Issue.record("two lines were expected")
      return
    }
    #expect(one == Array("a".utf8) && two == Array("b".utf8))
    #expect(lines.number == 2)
    #expect(throws: CommandFailure.self) {
      _ = try SharedLines("\(path)-not", maximumLineBytes: 10, until: StopSignals.catchAll())
    }
  }
}
