import Testing

@testable import Terminal

@Suite struct ManualPageTests {
  @Test func everyVisibleVerbHasAPage() {
    let names = Sample.program.manualPages.map(\.name)
    #expect(
      names == [
        "fanfare", "fanfare-demo", "fanfare-emit", "fanfare-copy", "fanfare-audience",
        "fanfare-audience-import", "fanfare-audience-seed", "fanfare-completions",
      ])
    for page in Sample.program.manualPages {
      #expect(Sample.program.chain(page.path)?.map(\.name) == page.path)
    }
  }

  @Test func aVerbsPageSaysWhatHelpSays() {
    let page = Sample.program.manualPage(path: ["audience", "seed"])
    #expect(
      page == #"""
        .TH "fanfare\-audience\-seed" 1 "" "fanfare 1.2.3" "fanfare manual"
        .nh
        .ad l
        .SH NAME
        fanfare\-audience\-seed \- Make people\(aqs profiles up
        .SH SYNOPSIS
        fanfare audience seed [options]
        .SH "OPTIONS"
        .TP
        \fB\-n, \-\-followers <N>\fR
        How many people follow the streamer (1\[u2026]10,000,000; default 100,000)
        .TP
        \fB\-j, \-\-json\fR
        Print one JSON object
        .TP
        \fB\-c, \-\-config <FILE>\fR
        Configuration file (env: FANFARE_CONFIG)
        .TP
        \fB\-h, \-\-help\fR
        Show this help
        .SH "EXIT STATUS"
        .TP
        \fB0\fR
        success
        .TP
        \fB1\fR
        the command ran, but it failed or found a problem
        .TP
        \fB64\fR
        the command line is wrong
        .SH "SEE ALSO"
        \fBfanfare\-audience\fR(1)

        """#)
  }

  @Test func aPageHasExamplesToPasteAndParagraphs() {
    let page = Sample.program.manualPage(path: ["demo"])
    #expect(page.contains("\nStarts everything it needs.\n.PP\nCleans up after itself.\n"))
    #expect(
      page.contains(
        ".nf\nfanfare demo \\-\\-followers 1000000 \\-\\-json "
          + "\\-\\-set deliver.connections=4 \\-\\-wait 10m\n.fi\n"))
  }

  @Test func theProgramsPageLeadsToAllOthersButHiddenOnes() {
    let page = Sample.program.manualPage(path: [])
    #expect(page.contains("\\fBfanfare\\-emit\\fR(1),\n"))
    #expect(page.contains("\n.PP\nSee README.md.\n"))
    #expect(!page.contains("internal"))
  }

  @Test(arguments: [
    (#"a\b"#, #"a\eb"#), ("--set", #"\-\-set"#), ("'x'", #"\(aqx\(aq"#), ("`x`", #"\(gax\(ga"#),
    (#""x""#, #"\(dqx\(dq"#), ("^~", #"\(ha\(ti"#), (".x", #"\&.x"#), ("x.", "x."),
    ("1…9", #"1\[u2026]9"#), ("é", #"\[u00E9]"#), ("🎉", #"\[u1F389]"#), ("a\nb", "a b"),
  ])
  func whatRoffTakesForItsOwnIsEscaped(_ words: String, _ expected: String) {
    #expect(Roff.line(words) == expected)
  }

  @Test(arguments: [
    (["man", "audience", "seed"], ExitCode.ok, #"fanfare\-audience\-seed \- "#),
    (["man", "--list"], .ok, "fanfare-audience-seed audience seed\n"),
    (["man", "audience", "sed"], .usage, "there is no verb 'audience sed'"),
    (["man", "--list", "demo"], .usage, "--list takes no verb"),
  ])
  func theVerbPrintsAPage(_ words: [String], _ expected: ExitCode, _ part: String) async {
    let program = Program(
      name: "fanfare", summary: "", version: "1.2.3",
      verbs: Sample.program.verbs + [.manual(program: "fanfare")])
    let buffer = Buffer()
    let code = await program.execute(
      words,
      clock: CommandClock(wallMilliseconds: { 1_795_248_000_000 }, monotonicNanoseconds: { 0 }),
      output: buffer.console(), errors: buffer.console())
    #expect(code == expected)
    #expect(buffer.text.contains(part))
  }
}
