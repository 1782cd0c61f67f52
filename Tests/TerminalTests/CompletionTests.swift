import Foundation
import Testing

@testable import Terminal

@Suite struct CompletionTests {
  private func run(_ shell: String, _ arguments: [String]) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: shell)
    process.arguments = arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return String(decoding: data, as: UTF8.self)
  }

  private static let hasBash = FileManager.default.isExecutableFile(atPath: "/bin/bash")

  @Test(
    .enabled(if: hasBash),
    arguments: [
      (["fanfare", "de"], "demo"),
      (["fanfare", ""], "demo emit copy audience completions"),
      (["fanfare", "audience", ""], "import seed"),
      (["fanfare", "--config", "audience", "e"], "emit"),
      (["fanfare", "audience", "seed", "--f"], "--followers"),
      (["fanfare", "audience", "seed", "--"], "--followers --json --config --help"),
      (["fanfare", "demo", "--colour", "g"], "green"),
      (["fanfare", "demo", "--colour", "=", "b"], "blue"),
      (["fanfare", "demo", "--colour", "="], "red green blue"),
      (["fanfare", "completions", "z"], "zsh"),
      (["fanfare", "demo", "--followers", "1"], ""),
      (["fanfare", "--ver"], "--version"),
    ])
  func bashCompletes(words: [String], expected: String) throws {
    let list = words.map { "'\($0)'" }.joined(separator: " ")
    let script =
      Sample.program.completions(for: .bash)
      + "\nCOMP_WORDS=(\(list)); COMP_CWORD=\(words.count - 1); _fanfare; echo \"${COMPREPLY[*]}\""
    #expect(try run("/bin/bash", ["--norc", "-c", script]) == expected + "\n")
  }

  @Test func hiddenVerbsAreInNoScript() {
    for shell in Shell.allCases {
      let script = Sample.program.completions(for: shell)
      #expect(!script.contains("internal"))
      #expect(script.contains("followers"))
    }
  }

  @Test func zshAndFishScriptsNameEveryLevelAndQuoteHelp() {
    let zsh = Sample.program.completions(for: .zsh)
    #expect(zsh.hasPrefix("#compdef fanfare\n"))
    #expect(zsh.contains("_fanfare_audience_seed() {"))
    #expect(zsh.contains(#"'seed:Make people'\''s profiles up'"#))
    #expect(zsh.contains("'--colour=[Paint]:NAME:(red green blue)'"))
    #expect(zsh.contains("'(-c --config)'{-c+,--config=}'[Configuration file]:FILE:_files'"))
    let fish = Sample.program.completions(for: .fish)
    #expect(
      fish.contains(
        #"complete -c fanfare -n '__fanfare_at audience' -a seed -d 'Make people\'s profiles up'"#))
    #expect(
      fish.contains(
        "complete -c fanfare -n '__fanfare_at demo' -l followers -s n -x -d"))
  }

  @Test func theVerbPrintsTheScript() async {
    let buffer = Buffer()
    let code = await Sample.program.execute(
      ["completions", "fish"],
      clock: CommandClock(wallMilliseconds: { 1_795_248_000_000 }, monotonicNanoseconds: { 0 }),
      output: buffer.console(), errors: buffer.console())
    #expect(code == .ok)
    #expect(buffer.text == Sample.program.completions(for: .fish))
  }
}
