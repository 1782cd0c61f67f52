import Fixtures
import Testing

@testable import Terminal

@Suite struct ParserTests {
  @Test func optionsHaveTheTypesOfTheirDeclaration() throws {
    let command = try Sample.command(
      "demo", "--followers", "250k", "--wait=1m30s", "-jq", "--share", "1e-3", "--colour", "blue",
      "--set", "a=b", "--set=c=d")
    let followers: Int = command[Sample.followers]
    let wait: Duration = command[Sample.wait]
    #expect(followers == 250_000)
    #expect(wait == .seconds(90))
    #expect(command[Sample.json] && command[Sample.quiet])
    #expect(command[Sample.share] == 0.001)
    #expect(command[Sample.colour] == .blue)
    #expect(command[Sample.set] == ["a=b", "c=d"])
    #expect(command[Sample.config] == nil)
    #expect(command.isGiven(Sample.wait) && !command.isGiven(Sample.config))
  }

  @Test func defaultsStandWhereNothingIsGiven() throws {
    let command = try Sample.command("demo")
    #expect(command[Sample.followers] == 100_000)
    #expect(command[Sample.colour] == .red)
    #expect(command[Sample.set] == [])
    #expect(!command[Sample.json])
    #expect(!command.isGiven(Sample.followers))
  }

  @Test(arguments: [["-n5"], ["-n", "5"], ["-n=5"], ["--followers=5"], ["-jqn5"], ["-jqn", "5"]])
  func spellingsOfAnOption(words: [String]) throws {
    guard case .run(let command) = try Sample.program.parse(["demo"] + words) else {
      Issue.record("not a run")
      return
    }
    #expect(command[Sample.followers] == 5)
  }

  @Test func globalAndGroupOptionsStandAnywhere() throws {
    for words in [
      ["-c", "x", "audience", "-j", "seed"], ["audience", "seed", "--json", "--config=x"],
    ] {
      guard case .run(let command) = try Sample.program.parse(words) else {
        Issue.record("not a run")
        return
      }
      #expect(command.path == ["audience", "seed"])
      #expect(command[Sample.config] == "x")
      #expect(command[Sample.json])
    }
  }

  @Test func argumentsAreTakenInOrder() throws {
    let command = try Sample.command("copy", "a", "--", "-b", "1", "-2", "3M")
    #expect(command[Sample.file] == "a")
    #expect(command[Sample.target] == "-b")
    #expect(command[Sample.more] == [1, -2, 3_000_000])
    #expect(try Sample.command("copy", "-")[Sample.file] == "-")
    #expect(try Sample.command("copy", "a")[Sample.target] == nil)
    #expect(try Sample.command("copy", "a", "b", "-7")[Sample.more] == [-7])
  }

  @Test func mistypedNamesNameTheNearest() {
    #expect(
      Sample.refusal("demo", "--folowers", "5")?.description
        == "unknown option --folowers; did you mean --followers?")
    #expect(
      Sample.refusal("dmeo")?.description == "unknown verb 'dmeo'; did you mean demo?")
    #expect(
      Sample.refusal("audience", "sed")?.description
        == "unknown verb of 'fanfare audience' 'sed'; did you mean seed?")
    #expect(
      Sample.refusal("demo", "-follow", "5")?.description
        == "unknown option -f; did you mean --followers?")
    #expect(
      Sample.refusal("demo", "--colour", "gren")?.description
        == "--colour 'gren' is refused: it must be one of red, green, blue; did you mean green?")
    // Nothing is near, and a hidden verb is not offered.
    #expect(Sample.refusal("xyzzy")?.description == "unknown verb 'xyzzy'")
    #expect(Sample.refusal("internl")?.description == "unknown verb 'internl'")
  }

  @Test(arguments: [
    (["demo", "--followers"], TerminalError.Code.missingValue),
    (["demo", "--followers", "--json"], .missingValue),
    (["demo", "--followers", "0"], .invalidValue),
    (["demo", "--followers", "ten"], .invalidValue),
    (["demo", "--followers", "99999999999999999999"], .invalidValue),
    (["demo", "--followers", "9223372036854775807k"], .invalidValue),
    (["demo", "--followers", "5", "-n", "6"], .repeatedOption),
    (["demo", "--wait", "30"], .invalidValue),
    (["demo", "--share", "nan"], .invalidValue),
    (["demo", "--share", "0x1p-3"], .invalidValue),
    (["demo", "--json=yes"], .unexpectedValue),
    (["demo", "extra"], .unexpectedArgument),
    (["emit"], .missingOption),
    (["copy"], .missingArgument),
    (["copy", "a", "b", "c"], .invalidValue),
    (["copy", ""], .invalidValue),
    (["audience"], .missingVerb),
    (["-c", "x"], .missingVerb),
    (["demo", "-x"], .unknownOption),
    (["help", "nothing"], .unknownVerb),
  ])
  func refusals(words: [String], code: TerminalError.Code) {
    #expect(throws: TerminalError.self) { try Sample.program.parse(words) }
    do { _ = try Sample.program.parse(words) } catch { #expect(error.code == code) }
  }

  @Test func helpAndVersionWinOverWhatIsMissing() throws {
    func path(_ words: String...) throws -> [String]? {
      guard case .help(let path) = try Sample.program.parse(words) else { return nil }
      return path
    }
    #expect(try path("--help") == [])
    #expect(try path("emit", "-h") == ["emit"])
    #expect(try path("help", "audience", "seed") == ["audience", "seed"])
    #expect(try path("audience", "--help") == ["audience"])
    guard case .version = try Sample.program.parse(["--version"]) else {
      Issue.record("not the version")
      return
    }
  }

  @Test func hostileWordsCannotDriveTheTerminal() {
    let escape = "\u{1B}[31mred\u{202E}\r\n"
    for words in [[escape], ["--\(escape)"], ["-\u{1B}"], ["demo", "--followers", escape]] {
      do {
        _ = try Sample.program.parse(words)
        Issue.record("taken: \(words)")
      } catch {
        #expect(!error.description.unicodeScalars.contains { $0.value < 0x20 || $0 == "\u{202E}" })
      }
    }
  }

  @Test(arguments: ["", "s", "5", "-5s", "5 s", "1e3s", "5x", "..s", "99999999d", "1h5", "٥s"])
  func noDurations(text: String) throws {
    let parser = ValueParser<Duration>.duration()
    #expect(throws: ValueRefusal.self) { try parser.parse(text) }
    #expect(try parser.parse("0") == .zero)
    #expect(try parser.parse(parser.show(.seconds(90))) == .seconds(90))
  }

  @Test func nothingIsNearWhatNobodyTyped() {
    #expect(Suggestion.nearest(to: "", among: ["a"]) == nil)
    #expect(Suggestion.nearest(to: String(repeating: "x", count: 100_000), among: ["a"]) == nil)
  }
}

@Suite struct DeclarationTests {
  @Test func theSampleIsSound() {
    #expect(Sample.program.problems == [])
  }

  @Test func contradictionsAreFound() {
    let twice = Option(flag: "json", help: "again")
    let help = Option(flag: "help", short: "h", help: "ours")
    let outside = Option("count", .integer(in: 1...3), default: 9, help: "no")
    let badName = Option("Bad_Name", .text, help: "x")
    let program = Program(
      name: "p", summary: "s", version: "1",
      verbs: [
        Verb(
          "a", summary: "x", options: [Sample.json, twice, help, outside, badName],
          arguments: [Sample.more, Sample.file]
        ) { _ in .ok },
        Verb("a", summary: "") { _ in .ok },
        Verb(group: "g", summary: "x", verbs: []),
      ])
    let problems = program.problems
    for expected in [
      "p: verb a is declared twice", "p a: option --json is declared twice",
      "p a: option --help is declared twice", "p a: option -h is declared twice",
      "p a: the default of --count is refused: it must be 1…3",
      "p a: option --Bad_Name is not made of lower-case letters, digits and dashes",
      "p a: <more> takes the rest and is not the last",
      "p a: <file> is required after the optional <more>", "p a: no summary",
      "p g: a group without verbs",
    ] {
      #expect(problems.contains(expected), "\(expected)")
    }
    #expect(problems.count == 10)
  }

  @Test func anInnerVerbMayNotRepeatAnOptionOfItsGroup() {
    let program = Program(
      name: "p", summary: "s", version: "1",
      verbs: [
        Verb(
          group: "g", summary: "x", options: [Sample.json],
          verbs: [Verb("v", summary: "y", options: [Sample.json]) { _ in .ok }])
      ])
    #expect(
      program.problems == [
        "p g v: option --json is declared twice", "p g v: option -j is declared twice",
      ])
  }
}
