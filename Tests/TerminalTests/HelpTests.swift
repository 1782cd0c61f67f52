import Testing

@testable import Terminal

@Suite struct HelpTests {
  @Test func aVerbsHelpSaysEverything() {
    let help = Sample.program.help(path: ["demo"], on: Buffer().console(width: 80))
    #expect(
      help == """
        fanfare demo: Show the whole way of the data

        Usage: fanfare demo [options]

        Starts everything it needs.

        Cleans up after itself.

        Options:
          -n, --followers <N>       How many people follow the streamer (1…10,000,000;
                                    default 100,000)
          -j, --json                Print one JSON object
          -q, --quiet               Say less
              --wait <TIME>         Time limit (0s…1h; default 1m30s)
              --share <N>           Part of errors (0…1; default 0.05)
              --colour <NAME>       Paint (red | green | blue; default red)
              --set <KEY=VALUE>...  Override a key

        Global options:
          -c, --config <FILE>  Configuration file (env: FANFARE_CONFIG)
          -h, --help           Show this help

        Examples:
          fanfare demo --followers 1000000 --json --set deliver.connections=4 --wait 10m
              A million

        Exit codes:
          0   success
          1   the command ran, but it failed or found a problem
          64  the command line is wrong
          69  a service that the command needs is down

        """)
  }

  @Test func theProgramsHelpListsVerbsButNotHiddenOnes() {
    let help = Sample.program.help(path: [], on: Buffer().console(width: 80))
    #expect(help.contains("Usage: fanfare <verb> [options]\n"))
    #expect(help.contains("  demo         Show the whole way of the data\n"))
    #expect(!help.contains("internal"))
    #expect(help.contains("  78  the configuration is wrong\n"))
    #expect(help.hasSuffix("See README.md.\n"))
  }

  @Test func argumentsAndRequiredOptionsStandInTheUsage() {
    let console = Buffer().console(width: 80)
    #expect(
      Sample.program.help(path: ["copy"], on: console)
        .contains("Usage: fanfare copy [options] <file> [<target>] [<more>...]\n"))
    #expect(
      Sample.program.help(path: ["emit"], on: console)
        .contains("Usage: fanfare emit [options] --streamer <TEXT>\n"))
    #expect(
      Sample.program.help(path: ["audience"], on: console)
        .contains("Usage: fanfare audience <verb> [options]\n"))
  }

  @Test(arguments: [1, 20, 32, 40, 50, 79, 80, 100, 500])
  func narrowTerminalsAreObeyed(width: Int) {
    for path in [[], ["demo"], ["emit"], ["audience"], ["audience", "seed"]] {
      let help = Sample.program.help(path: path, on: Buffer().console(width: width))
      let limit = min(max(width, 32), 100)
      for line in help.split(separator: "\n") where !line.hasPrefix("  fanfare ") {
        #expect(DisplayWidth.cells(line) <= limit, "\(line)")
      }
    }
  }

  @Test func explanationsGoUnderNamesWhereTheColumnIsTooNarrow() {
    let help = Sample.program.help(path: ["demo"], on: Buffer().console(width: 40))
    #expect(
      help.contains("  -n, --followers <N>\n      How many people follow the\n      streamer (1…"))
  }

  @Test func coloursOnlyWhereWanted() {
    let plain = Sample.program.help(path: ["demo"], on: Buffer().console())
    let coloured = Sample.program.help(path: ["demo"], on: Buffer().console(coloured: true))
    #expect(!plain.contains("\u{1B}"))
    #expect(coloured.contains("\u{1B}[1mOptions:\u{1B}[0m"))
  }

  @Test func executingRunsTheHandlerOrTells() async {
    func run(_ words: String...) async -> (code: ExitCode, output: String, errors: String) {
      let (output, errors) = (Buffer(), Buffer())
      let code = await Sample.program.execute(
        words,
        clock: CommandClock(wallMilliseconds: { 1_795_248_000_000 }, monotonicNanoseconds: { 0 }),
        output: output.console(), errors: errors.console())
      return (code, output.text, errors.text)
    }
    var result = await run("demo", "-n", "7")
    #expect(result == (.ok, "7 followers\n", ""))
    result = await run("internal")
    #expect(result.code == .retryLater)
    result = await run("--version")
    #expect(result == (.ok, "fanfare 1.2.3\n", ""))
    result = await run("demo", "--folowers")
    #expect(
      result == (
        .usage, "",
        "fanfare: unknown option --folowers; did you mean --followers?\n"
          + "Try 'fanfare demo --help'.\n"
      ))
    result = await run()
    #expect(result.code == .usage && result.output.isEmpty && result.errors.contains("Verbs:"))
    result = await run("help", "demo")
    #expect(result.code == .ok && result.output.contains("--followers"))
  }
}
