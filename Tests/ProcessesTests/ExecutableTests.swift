import Processes
import Testing

@Suite struct ExecutableTests {
  @Test(arguments: [
    ("plain-word_1.2", "plain-word_1.2"), ("two words", "'two words'"), ("", "''"),
    ("it's", #"'it'\''s'"#), ("$HOME", "'$HOME'"), ("naïve", "'naïve'"),
  ])
  func aShellTakesTheWordAsItIs(word: String, quoted: String) throws {
    #expect(Executable.shellQuoted(word) == quoted)
    #expect(try ChildProcess.run(["sh", "-c", "printf %s \(quoted)"]) == word)
  }

  @Test func aMissingProgramIsNamedWithItsPackage() {
    let failure = #expect(throws: LocalRunError.self) {
      try Executable.find("no-such-program", package: "the-package")
    }
    #expect(failure?.kind == .unavailable)
    #expect(failure?.message.contains("no-such-program is not installed") == true)
    #expect(failure?.message.contains("the-package") == true)
  }

  @Test func programsAreFoundOnThePath() throws {
    #expect(try Executable.find("sh", package: "dash").hasSuffix("/sh"))
  }
}
