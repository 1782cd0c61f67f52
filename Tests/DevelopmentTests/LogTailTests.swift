import Processes
import Testing

@testable import Development

@Suite struct LogTailTests {
  @Test func linesFromNowOnAreReadWholeAndOnce() throws {
    let directory = try ScratchDirectory()
    let path = try directory.write("before\n", to: "log")
    var tail = LogTail(path)
    #expect(tail.lines() == [])
    // The file grows: what was read stays where it is.
    try directory.write("before\none\ntw", to: "log")
    #expect(tail.lines() == ["one"])
    try directory.write("before\none\ntwo\nthree\n", to: "log")
    #expect(tail.lines() == ["two", "three"])
    #expect(tail.lines() == [])
  }

  @Test func aLogThatIsNotThereYetIsReadFromItsStart() throws {
    let directory = try ScratchDirectory()
    var tail = LogTail(directory.file("log"))
    #expect(tail.lines() == [])
    try directory.write("one\n", to: "log")
    #expect(tail.lines() == ["one"])
  }
}
