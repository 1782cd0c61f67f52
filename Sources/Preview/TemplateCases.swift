import JSON
import Model
import Render
import Terminal

/// The file beside a template that says what its readers must see: `go-live.tests.yaml`.
///
///     event: { streamer: { name: Aiko } }      # for all cases; optional
///     cases:
///       - name: Ken in Tokyo
///         locale: ja
///         person: { name: Ken }
///         event: { stream: { title: Speedrun } }
///         expect:
///           title: Aikoがライブ配信を始めました
///           fcm: { bytes: 258 }
package struct TemplateCases: Sendable {
  package struct Case: Sendable {
    package let name: String
    package let place: TemplateSource.Place
    package var locale: String?
    package var person: [String: String] = [:]
    /// The differences from the sample event.
    var event: [TemplateSource.Entry] = []
    var statements: [Statement] = []
    /// Where `expect` is; nil where it is missing.
    var expectPlace: TemplateSource.Place?
  }

  /// One thing that must hold.
  struct Statement: Equatable, Sendable {
    /// `["title"]`, `["fcm", "bytes"]`, `["apns", "payload", "aps", "badge"]`.
    let path: [String]
    /// Null: there is none.
    var value: JSONValue
    /// Nil of one that no file states yet.
    var place: TemplateSource.Place?

    var words: String { path.joined(separator: ".") }
  }

  /// The file, as messages should show it.
  package let file: String
  package private(set) var cases: [Case] = []
  /// The mistakes of the file, with `file:line:column`.
  package private(set) var problems: [String] = []
  private var event: [TemplateSource.Entry] = []

  static let texts = ["title", "subtitle", "body"]
  private static let platforms = [Platform.apns, .fcm, .webpush].map(\.name)
  /// Of one file: somebody wrote them by hand.
  private static let maximumCases = 1_000

  package init(_ source: TemplateSource) {
    file = source.file
    for entry in map(source.root, "a file of tests", ["event", "cases"]) {
      switch entry.key {
      case "event": event = entries(entry.value, "event")
      default: readCases(entry.value)
      }
    }
    if cases.isEmpty, problems.isEmpty {
      report(source.root.place, "holds no case: write one under 'cases'")
    }
  }

  // MARK: reading

  private mutating func report(_ place: TemplateSource.Place, _ message: String) {
    problems.append("\(file):\(place.line):\(place.column): \(message)")
  }

  private mutating func entries(
    _ node: TemplateSource.Node, _ what: String
  ) -> [TemplateSource.Entry] {
    switch node.value {
    case .map(let entries): return entries
    case .null: return []
    default:
      report(node.place, "\(what) must be a map of names and values")
      return []
    }
  }

  /// The entries of a map that may have only these keys.
  private mutating func map(
    _ node: TemplateSource.Node, _ what: String, _ keys: [String]
  ) -> [TemplateSource.Entry] {
    entries(node, what).filter { entry in
      if keys.contains(entry.key) { return true }
      let guess = Suggestion.nearest(to: entry.key, among: keys).map { ": did you mean \($0)?" }
      report(
        entry.place,
        "unknown key '\(entry.key)'\(guess ?? "; known are \(keys.joined(separator: ", "))")")
      return false
    }
  }

  private mutating func readCases(_ node: TemplateSource.Node) {
    guard case .list(let nodes) = node.value, nodes.count <= Self.maximumCases else {
      report(node.place, "cases must be a list of at most \(Self.maximumCases) cases")
      return
    }
    for (index, node) in nodes.enumerated() {
      let members = map(node, "a case", ["name", "locale", "person", "event", "expect"])
      let name = members.first { $0.key == "name" }.flatMap { text($0.value) }
      var found = Case(
        name: name ?? "case \(index + 1)", place: members.first?.place ?? node.place)
      for entry in members {
        switch entry.key {
        case "locale": found.locale = text(entry.value)
        case "person":
          for field in entries(entry.value, "person") {
            found.person[field.key] = text(field.value)
          }
        case "event": found.event = entries(entry.value, "event")
        case "expect":
          found.expectPlace = entry.place
          found.statements = statements(entry.value)
        default: break
        }
      }
      cases.append(found)
    }
  }

  /// A scalar as a person reads it; a mistake in anything else.
  private mutating func text(_ node: TemplateSource.Node) -> String? {
    switch node.value {
    case .list, .map:
      report(node.place, "must be one value")
      return nil
    case .null: return nil
    default: return Self.text(Self.json(node.value))
    }
  }

  private mutating func statements(_ node: TemplateSource.Node) -> [Statement] {
    var found: [Statement] = []
    for entry in map(node, "expect", ["locale"] + Self.texts + Self.platforms) {
      guard Self.platforms.contains(entry.key) else {
        found.append(
          Statement(
            path: [entry.key], value: Self.json(entry.value.value), place: entry.value.place))
        continue
      }
      let keys = Self.texts + ["bytes", "shortened", "payload"]
      for member in map(entry.value, entry.key, keys) {
        found += Self.leaves(member.value, [entry.key, member.key])
      }
    }
    return found
  }

  /// A map states each of its members, and says nothing of others.
  private static func leaves(_ node: TemplateSource.Node, _ path: [String]) -> [Statement] {
    guard case .map(let entries) = node.value, !entries.isEmpty else {
      return [Statement(path: path, value: json(node.value), place: node.place)]
    }
    return entries.flatMap { leaves($0.value, path + [$0.key]) }
  }

  static func json(_ value: TemplateSource.Value) -> JSONValue {
    switch value {
    case .null: .null
    case .boolean(let flag): .bool(flag)
    case .integer(let number): .integer(number)
    case .number(let number): .double(number)
    case .string(let text): .string(text)
    case .list(let nodes): .array(nodes.map { json($0.value) })
    case .map(let entries): .object(JSON.JSONObject(entries.map { ($0.key, json($0.value.value)) }))
    }
  }

  /// A value as a person reads it: texts without quotation marks.
  static func text(_ value: JSONValue) -> String {
    switch value {
    case .string(let text): text
    case .null: "nothing"
    default: output(value).serialized()
    }
  }

  static func output(_ value: JSONValue) -> JSONOutput {
    switch value {
    case .null: .null
    case .bool(let flag): .bool(flag)
    case .integer(let number): .digits(String(number))
    case .double(let number): .number(number, digits: 9)
    case .string(let text): .text(text)
    case .array(let values): .array(values.map(output))
    case .object(let object):
      .object(
        Terminal.JSONObject(unique: object.members.map { (name: $0.name, value: output($0.value)) })
      )
    }
  }

  // MARK: the event

  /// The document of a case's event: the sample, with what the file and the case say in its place.
  /// A null takes a value away.
  func document(of tested: Case) -> [UInt8] {
    var members = Terminal.JSONObject()
    if let sample = try? JSONValue.parse(TemplatePreview.sampleEvent(now: Self.occurredAt)),
      case .object(let object) = Self.output(sample)
    {
      members = object
    }
    for entries in [event, tested.event] { Self.merge(entries, into: &members) }
    return Array(JSONOutput.object(members).serialized().utf8)
  }

  /// 2026-01-01 12:00 UTC, in ms since 1970: a test says the same tomorrow.
  static let occurredAt: Int64 = 1_767_268_800_000

  private static func merge(
    _ entries: [TemplateSource.Entry], into members: inout Terminal.JSONObject
  ) {
    for entry in entries {
      switch entry.value.value {
      case .null: members[entry.key] = nil
      case .map(let inner):
        var object = Terminal.JSONObject()
        if case .object(let known) = members[entry.key] { object = known }
        merge(inner, into: &object)
        members[entry.key] = .object(object)
      case let value: members[entry.key] = output(json(value))
      }
    }
  }
}
