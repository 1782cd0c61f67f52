import Fixtures
import JSON
import Terminal
import Testing

@testable import fanfare

/// What can be known of the command line without anything to connect to.
@Suite struct DeclarationTests {
  @Test func theDeclarationContradictsItselfNowhere() {
    #expect(fanfareProgram.problems == [])
  }

  @Test(arguments: [
    [], ["worker"], ["simulator"], ["broker"], ["emit"], ["send"], ["channel"],
    ["channel", "create"], ["channel", "send"], ["audience"],
    ["audience", "import"],
    ["device"], ["device", "restore"], ["device", "bind"], ["device", "unbind"],
    ["device", "replace"], ["device", "list"], ["user"], ["user", "show"], ["user", "profile"],
    ["user", "forget"], ["follow"], ["unfollow"], ["audience", "show"],
    ["audience", "seed"], ["audience", "shard"], ["render"], ["check"], ["version"],
    ["config"], ["config", "show"], ["config", "schema"], ["doctor"], ["completions"],
    ["man"],
  ])
  func everyVerbExplainsItself(_ path: [String]) throws {
    let process = try Command.start(path + ["--help"])
    let text = process.readToEnd()
    #expect(process.waitForExit() == 0)
    #expect(text.contains("Usage: fanfare"))
    #expect(text.contains("Examples:"))
    #expect(
      [["audience"], ["device"], ["user"], ["channel"], ["config"]].contains(path)
        || text.contains("Exit codes:"))
  }

  @Test(arguments: [
    ("chek", "check"), ("emti", "emit"), ("simulater", "simulator"), ("rendr", "render"),
  ])
  func aMistypedVerbNamesTheNearest(_ typed: String, _ meant: String) throws {
    let outcome = try Command.run(typed)
    #expect(outcome.code == 64)
    #expect(outcome.text.contains("did you mean \(meant)?"))
  }

  @Test(arguments: ["bash", "zsh", "fish"])
  func completionsNameVerbsAndOptions(_ shell: String) throws {
    let outcome = try Command.run("completions", shell)
    #expect(outcome.code == 0)
    #expect(outcome.text.contains("audience") && outcome.text.contains("all-locales"))
  }

  @Test func pagesAndCompletionsNameEveryVerbAndOption() throws {
    let bash = fanfareProgram.completions(for: .bash)
    let zsh = fanfareProgram.completions(for: .zsh)
    let fish = fanfareProgram.completions(for: .fish)
    #expect(fanfareProgram.manualPages.count > fanfareProgram.verbs.count)
    for page in fanfareProgram.manualPages {
      let chain = try #require(fanfareProgram.chain(page.path))
      let text = fanfareProgram.manualPage(path: page.path)
      for option in fanfareProgram.options(at: chain) where !option.isHidden {
        let escaped = option.name.split(separator: "-").joined(separator: "\\-")
        #expect(text.contains("\\-\\-\(escaped)"), "\(page.name) \(option.name)")
        #expect(bash.contains("--\(option.name)") && zsh.contains("--\(option.name)"))
        #expect(fish.contains(" -l \(option.name) "))
      }
      guard let verb = page.path.last else { continue }
      #expect(bash.contains(" \(verb)\")") && zsh.contains("'\(verb):"), "\(page.name)")
      #expect(fish.contains(" -a \(verb) -d "))
    }
  }

  @Test func versionsAreJSON() throws {
    let outcome = try Command.run("version", "--json")
    #expect(outcome.code == 0)
    let versions = try JSONValue.parse(Array(outcome.text.utf8)).object
    let names = [
      "fanfare", "librdkafka", "nghttp2", "openssl", "hiredis", "jansson", "libyaml",
    ]
    for name in names {
      #expect(versions?[name]?.string?.first?.isNumber == true, "\(name)")
    }
  }
}
