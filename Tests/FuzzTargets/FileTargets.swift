import Assembly
import Glibc
import JSON
import Model
import Render
import Rules
import Settings
import Text
import Threads
import YAML

let fileTargets = [
  FuzzTarget("yaml") { input in
    do throws(YAMLError) {
      _ = try YAMLNode.parse(Array(input))
    } catch {
      try hold(error.line > 0 && error.column > 0, "an error without a place: \(error)")
      try hold(!error.message.isEmpty, "an error without words")
    }
  },
  FuzzTarget("template", maximumBytes: 2048) { input in
    guard let source = try? TemplateFile.parse(Array(input), name: "t", file: "t.yaml") else {
      return
    }
    let lines = input.count { $0 == 0x0A || $0 == 0x0D } + 1
    let template: Template
    do throws(RenderError) {
      template = try Template.compile(source)
    } catch {
      try hold(!error.problems.isEmpty, "refused without a problem: \(error)")
      for problem in error.problems {
        try hold(!problem.message.isEmpty, "a problem without words")
        try hold(
          (1...lines + 1).contains(problem.place.line), "line \(problem.place.line) of \(lines)")
      }
      return
    }
    try checkPush(of: template, [:])
    try checkPush(of: template, ["locale": "ja", "name": "\"\\\u{1}Ai\u{2068}ko", "badge": "3"])
  },
  FuzzTarget("settings", maximumBytes: 2048) { input in
    try SettingsScratch.shared.withFile(of: input) { file in
      let report = SettingsLoader.load(
        SettingsInput(file: file, environment: [:], hostName: "host", processID: 42))
      for finding in report.findings {
        try hold(!finding.message.isEmpty, "a finding without words: \(finding)")
      }
      try holdEqual((try? report.settings()) != nil, report.problems.isEmpty, "usable")
    }
  },
  FuzzTarget("zone") { input in
    let bytes = Array(input)
    let now = fuzzTime / 1000
    guard let clock = ZoneFile.clock(bytes, since: now) else { return }
    try holdEqual(ZoneFile.clock(bytes, since: now), clock, "a clock, read twice")
    for time in [0, fuzzTime, fuzzTime + 86_400_000 * 200, Timestamp.range.upperBound] {
      let minute = clock.minuteOfDay(at: time)
      try hold((0..<1440).contains(minute), "minute \(minute) of a day")
    }
  },
  // Fields of a profile, a line each: language, name, zone, quiet hours, muted, streamers.
  FuzzTarget("profile", maximumBytes: 512) { input in
    let lines = input.split(separator: 0x0A, omittingEmptySubsequences: false)
    func line(_ index: Int) -> UnsafeRawBufferPointer {
      index < lines.count ? UnsafeRawBufferPointer(rebasing: lines[index]) : input[piece: 0..<0]
    }
    var values = RuleValues()
    for (index, field) in [RuleField.timeZone, .quiet, .muted, .mutedStreamers].enumerated() {
      values[field] = line(2 + index)
    }
    let rules = RecipientRules(mutesStreamers: true, timeZones: TimeZones(["Europe/Berlin": .utc]))
    _ = RecipientJudge(rules, streamer: Array("s42".utf8), now: fuzzTime).verdict(on: values)
    _ = ZoneNames.hint(line(2).lossyText)
    guard let template = SmallTemplate.compiled else {
      throw BrokenProperty(description: "the template of the target does not compile")
    }
    try checkPush(
      of: template,
      ["locale": line(0).lossyText, "name": line(1).lossyText, "badge": line(2).lossyText])
  },
]

/// Whatever a template may be, its pushes are objects of JSON within Apple's limit.
private func checkPush(of template: Template, _ fields: [String: String]) throws {
  let prepared = try RenderStage(templates: [template]).prepare(SmallTemplate.event(template.name))
  let preview: RenderPreview
  do throws(RenderError) {
    preview = try prepared.preview(recipient: fields)
  } catch {
    try hold(error.code == .unrenderable, "\(error)")
    return
  }
  try hold(
    preview.byteCount <= preview.headers.pushType.maximumPayloadBytes,
    "a push of \(preview.byteCount) bytes")
  try holdEqual(preview.payload.utf8.count, preview.byteCount, "the payload's bytes")
  let value = try JSONValue.parseWithAnyIntegers(Array(preview.payload.utf8))
  try hold(value.object != nil, "a payload that is \(value.kindName)")
}

/// A file that the settings are read from, since their reader opens it itself.
private final class SettingsScratch: Sendable {
  static let shared = SettingsScratch()

  private let path =
    (getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp") + "/fuzz-settings-\(getpid()).yaml"
  private let isInUse = ThreadLock(())

  func withFile(
    of input: UnsafeRawBufferPointer, _ body: (String) throws -> Void
  ) throws {
    try isInUse.withLock { _ in
      let descriptor = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { throw BrokenProperty(description: "\(path) is not written") }
      defer { unlink(path) }
      let count = write(descriptor, input.baseAddress, input.count)
      close(descriptor)
      try hold(count == input.count, "\(path) is not written")
      try body(path)
    }
  }
}
