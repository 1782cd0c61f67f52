import JSON
import Model
import Render
import Terminal

/// Runs the cases of a template.
package struct TemplateTest {
  package struct Failure: Sendable, Equatable {
    /// `file:line:column` of what is stated.
    package let place: String
    /// `title`, `fcm.bytes`.
    package let what: String
    package let expected: String
    package let actual: String

    /// Expected and actual on a line each, with marks where they differ.
    package var lines: [String] {
      TextDifference(expected: expected, actual: actual).lines("expected", "actual")
    }
  }

  package struct Result: Sendable {
    package let tested: TemplateCases.Case
    package let failures: [Failure]
    /// The values that hold now, in place of each statement.
    let actual: [TemplateCases.Statement]

    package var isPassed: Bool { failures.isEmpty }
  }

  private let template: Template
  private let cases: TemplateCases
  private let readEvent: ([UInt8]) throws(CommandFailure) -> Event

  /// - Parameter readEvent: decodes an event's document as workers do.
  package init(
    _ template: Template, _ cases: TemplateCases,
    readEvent: @escaping ([UInt8]) throws(CommandFailure) -> Event
  ) {
    self.template = template
    self.cases = cases
    self.readEvent = readEvent
  }

  package func run() -> [Result] { cases.cases.map { run($0) } }

  private func run(_ tested: TemplateCases.Case) -> Result {
    let shown: Shown
    do throws(CommandFailure) {
      var person = RenderedPerson()
      person.fields = tested.person
      if let locale = tested.locale { person.fields["locale"] = locale }
      let event = try readEvent(cases.document(of: tested))
      shown = Shown(try TemplatePreview(template, event).preview(person))
    } catch {
      let failure = Failure(
        place: place(tested.place), what: "case", expected: "a push", actual: error.message)
      return Result(tested: tested, failures: [failure], actual: tested.statements)
    }
    guard !tested.statements.isEmpty else {
      // A case that states nothing would always pass.
      let failure = Failure(
        place: place(tested.place), what: "expect",
        expected: "a statement: write one under 'expect', or use --update", actual: "nothing")
      return Result(tested: tested, failures: [failure], actual: shown.statements)
    }
    var failures: [Failure] = []
    var actual: [TemplateCases.Statement] = []
    for statement in tested.statements {
      let values = shown.values(of: statement, among: tested.statements)
      failures += self.failures(of: statement, values, tested)
      actual += Self.replacement(of: statement, values)
    }
    return Result(tested: tested, failures: failures, actual: actual)
  }

  /// One for each value that is wrong, with the platforms that have it.
  private func failures(
    of statement: TemplateCases.Statement, _ values: [(platform: String?, value: JSONValue)],
    _ tested: TemplateCases.Case
  ) -> [Failure] {
    var wrong: [(value: JSONValue, platforms: [String])] = []
    for (platform, value) in values where value != statement.value {
      let index = wrong.firstIndex { $0.value == value } ?? wrong.count
      if index == wrong.count { wrong.append((value, [])) }
      if let platform { wrong[index].platforms.append(platform) }
    }
    return wrong.map { value, platforms in
      let readers = platforms.isEmpty ? "" : " (\(platforms.joined(separator: ", ")))"
      return Failure(
        place: place(statement.place ?? tested.place), what: statement.words + readers,
        expected: TemplateCases.text(statement.value), actual: TemplateCases.text(value))
    }
  }

  /// A text that was the same on all platforms may have become several.
  private static func replacement(
    of statement: TemplateCases.Statement, _ values: [(platform: String?, value: JSONValue)]
  ) -> [TemplateCases.Statement] {
    var first = statement
    first.value = values.first?.value ?? .null
    return [first]
      + values.dropFirst().filter { $0.value != first.value }.map { platform, value in
        TemplateCases.Statement(
          path: (platform.map { [$0] } ?? []) + statement.path, value: value, place: nil)
      }
  }

  private func place(_ place: TemplateSource.Place) -> String {
    "\(cases.file):\(place.line):\(place.column)"
  }
}

/// A preview as statements ask for it.
private struct Shown {
  private let preview: RenderPreview
  private let messages: [(platform: String, texts: ShownMessage, message: RenderPreview.Message)]

  init(_ preview: RenderPreview) {
    self.preview = preview
    messages = preview.messages.map { ($0.platform.name, ShownMessage($0), $0) }
  }

  /// The values that a statement is about: of a text without a platform one of each platform that
  /// shows such a text, unless another statement is about it.
  func values(
    of statement: TemplateCases.Statement, among all: [TemplateCases.Statement]
  ) -> [(platform: String?, value: JSONValue)] {
    let path = statement.path
    if path == ["locale"] { return [(nil, .string(preview.locale))] }
    guard path.count == 1 else { return [(nil, value(of: path))] }
    let found = messages.filter { message in
      text(path[0], message.texts) != .null
        && !all.contains { $0.path == [message.platform] + path }
    }
    guard !found.isEmpty else { return [(nil, .null)] }
    return found.map { ($0.platform, text(path[0], $0.texts)) }
  }

  private func value(of path: [String]) -> JSONValue {
    guard let (_, texts, message) = messages.first(where: { $0.platform == path[0] }) else {
      let problem = preview.oversized.first { $0.platform.name == path[0] }?.problem
      return .string(problem ?? "no message for \(path[0])")
    }
    switch path[1] {
    case "bytes": return .integer(Int64(message.byteCount))
    case "shortened": return .bool(message.isShortened)
    case "payload":
      var value = try? JSONValue.parseWithAnyIntegers(Array(message.payload.utf8))
      for name in path.dropFirst(2) { value = value?.object?[name] }
      return value ?? .null
    default: return text(path[1], texts)
    }
  }

  private func text(_ name: String, _ texts: ShownMessage) -> JSONValue {
    let text =
      switch name {
      case "title": texts.title
      case "subtitle": texts.subtitle
      default: texts.body
      }
    return text.map { .string($0) } ?? .null
  }

  /// Everything that a case without statements could state.
  var statements: [TemplateCases.Statement] {
    var found: [TemplateCases.Statement] = []
    func add(_ path: [String], _ value: JSONValue) {
      found.append(TemplateCases.Statement(path: path, value: value, place: nil))
    }
    add(["locale"], .string(preview.locale))
    for name in TemplateCases.texts {
      let values = messages.map { ($0.platform, text(name, $0.texts)) }.filter { $0.1 != .null }
      guard let first = values.first?.1 else { continue }
      add([name], first)
      for (platform, value) in values where value != first { add([platform, name], value) }
    }
    for message in messages {
      add([message.platform, "bytes"], .integer(Int64(message.message.byteCount)))
      if message.message.isShortened { add([message.platform, "shortened"], .bool(true)) }
    }
    return found
  }
}
