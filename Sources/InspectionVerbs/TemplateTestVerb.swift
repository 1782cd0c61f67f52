import Assembly
import Emission
import Model
import Preview
import PushSupport
import Terminal
import VerbSupport

/// Runs the tests beside templates.
enum TemplateTestVerb {
  private static let path = Argument<String?>(
    "path", .path,
    help: "A template's file, its tests' file, or a directory; by default templates.directory")
  private static let update = Option(
    flag: "update", help: "Write into the tests what readers see now; check the changes with git")
  private static let junit = Option<String?>(
    "junit", .path, value: "FILE", help: "Write the results as JUnit's XML too, for a CI server")
  private static let maximumBytes = 1 << 20

  static let verb = Verb(
    "test", summary: "Run the tests beside templates",
    discussion: """
      The tests of go-live.yaml are in go-live.tests.yaml. Each case names a person and an event, \
      and what phones then show. Whatever it states must hold. A case without `expect` gets one by \
      --update.
      """,
    options: [update, junit], arguments: [path],
    examples: [
      .init("fanfare template test", "Run all tests in templates.directory"),
      .init(
        "fanfare template test go-live.yaml --update",
        "Accept what readers of go-live see now"),
    ], exitCodes: [.ok, .failed, .config], handler: run)

  private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
    let settings = try invocation.loadSettings()
    let reader = EventReader(
      options: Assembly.ingestOptions(settings), now: invocation.nowMilliseconds)
    func event(_ document: [UInt8]) throws(CommandFailure) -> Event {
      guard let event = try reader.read(flags: document).event else {
        throw CommandFailure(.failed, "the end of a stream is shown to nobody")
      }
      return event
    }
    var reports: [TemplateTestReport] = []
    var untested: [String] = []
    for tested in try CommandTemplates.tested(invocation[path], settings) {
      guard let source = tested.tests else {
        untested.append(tested.template.name)
        continue
      }
      let cases = try sound(TemplateCases(source))
      var results = TemplateTest(tested.template, cases, readEvent: event).run()
      if invocation[update], results.contains(where: { !$0.isPassed }) {
        let text = try TemplateTestUpdate.text(
          CommandFile.text(tested.testsFile, maximumBytes: maximumBytes),
          file: tested.testsFile, results)
        let updated = try sound(
          TemplateCases(CommandTemplates.tests(text: text, file: tested.testsFile)))
        results = TemplateTest(tested.template, updated, readEvent: event).run()
        guard results.allSatisfy(\.isPassed) else {
          throw CommandFailure(
            .failed, "\(tested.testsFile) cannot be updated; change it by hand",
            findings: results.flatMap(\.failures).map { "\($0.place): \($0.what)" })
        }
        try CommandFile.replace(tested.testsFile, with: text)
        invocation.errors.line(TextLayout.printable("\(tested.testsFile) is updated"))
      }
      reports.append(TemplateTestReport(file: tested.testsFile, results: results))
    }
    if let file = invocation[junit] {
      try CommandFile.replace(file, with: TemplateTestReport.junit(reports))
    }
    return say(reports, untested, invocation)
  }

  private static func sound(_ cases: TemplateCases) throws(CommandFailure) -> TemplateCases {
    guard cases.problems.isEmpty else {
      throw CommandFailure(
        .failed, "\(cases.file) has mistakes: nothing was tested", findings: cases.problems)
    }
    return cases
  }

  private static func say(
    _ reports: [TemplateTestReport], _ untested: [String], _ invocation: Invocation
  ) -> ExitCode {
    let failed = reports.reduce(0) { $0 + $1.failed }
    let all = reports.reduce(0) { $0 + $1.results.count }
    if invocation[TemplateVerb.json] {
      for line in reports.flatMap(\.json) { invocation.output.line(line.serialized()) }
    } else {
      for report in reports { invocation.output.write(report.text(invocation.output.styled)) }
      invocation.output.line("\(all - failed) passed, \(failed) failed")
    }
    if !untested.isEmpty {
      invocation.errors.line("without tests: \(untested.joined(separator: ", "))")
    }
    return failed == 0 ? .ok : .failed
  }
}
