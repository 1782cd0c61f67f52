import Settings
import Terminal

/// Everything that was looked at, in order.
package struct CheckList: Sendable {
  package private(set) var items: [CheckItem] = []
  /// Warnings count as problems.
  package let deniesWarnings: Bool

  package init(deniesWarnings: Bool) { self.deniesWarnings = deniesWarnings }

  package mutating func ok(_ area: String, _ message: String) {
    add(area, .ok, .configuration, message)
  }

  package mutating func skipped(_ area: String, _ message: String) {
    add(area, .skipped, .configuration, message)
  }

  package mutating func warning(
    _ area: String, _ blame: CheckItem.Blame, _ message: String, key: String? = nil,
    hint: String? = nil
  ) {
    add(area, deniesWarnings ? .problem : .warning, blame, message, key: key, hint: hint)
  }

  package mutating func problem(
    _ area: String, _ blame: CheckItem.Blame, _ message: String, key: String? = nil,
    hint: String? = nil
  ) {
    add(area, .problem, blame, message, key: key, hint: hint)
  }

  package mutating func add(_ area: String, _ finding: SettingsFinding) {
    let isProblem = finding.severity == .problem || deniesWarnings
    items.append(
      CheckItem(
        area: area, status: isProblem ? .problem : .warning, blame: .configuration,
        place: finding.place, key: finding.key, message: finding.message, hint: finding.hint))
  }

  package mutating func add(_ area: String, _ error: SettingsError) {
    for problem in error.problems { add(area, problem) }
  }

  package mutating func append(_ other: CheckList) { items += other.items }

  private mutating func add(
    _ area: String, _ status: CheckItem.Status, _ blame: CheckItem.Blame, _ message: String,
    key: String? = nil, hint: String? = nil
  ) {
    items.append(
      CheckItem(
        area: area, status: status, blame: blame, place: nil, key: key, message: message,
        hint: hint))
  }

  // MARK: The verdict

  package var problems: Int { items.count { $0.status == .problem } }
  package var warnings: Int { items.count { $0.status == .warning } }

  /// A configuration that is wrong comes first: waiting does not mend it.
  package var exitCode: ExitCode {
    let problems = items.filter { $0.status == .problem }
    if problems.contains(where: { $0.blame == .configuration }) { return .config }
    return problems.isEmpty ? .ok : .unavailable
  }
}

/// The list for people and for scripts.
extension CheckList {
  package func write(to console: Console) {
    var area = ""
    for item in items {
      if item.area != area {
        area = item.area
        console.line(console.styled(area, .bold))
      }
      let label = TextLayout.padded(item.status.rawValue, to: 9)
      let key = SettingsFinding.key(item.key, beside: item.place)
      let words = [item.place, key, item.message].compactMap { $0 }.joined(separator: ": ")
      console.line("  " + styled(label, item.status, console) + TextLayout.printable(words))
      if let hint = item.hint {
        console.line(String(repeating: " ", count: 11) + TextLayout.printable(hint))
      }
    }
    let verdict = "\(Self.count(problems, "problem")), \(Self.count(warnings, "warning"))"
    console.line(console.styled(verdict, problems > 0 ? .red : .green))
  }

  package var json: JSONOutput {
    let checks = items.map { item -> JSONOutput in
      var object: JSONObject = [
        "area": .text(item.area), "status": .text(item.status.rawValue),
        "message": .text(item.message),
      ]
      if let place = item.place { object["place"] = .text(place) }
      if let key = item.key { object["key"] = .text(key) }
      if let hint = item.hint { object["hint"] = .text(hint) }
      return .object(object)
    }
    return [
      "ok": .bool(problems == 0), "problems": .integer(problems), "warnings": .integer(warnings),
      "checks": .array(checks),
    ]
  }

  private func styled(_ text: String, _ status: CheckItem.Status, _ console: Console) -> String {
    switch status {
    case .ok: console.styled(text, .green)
    case .warning: console.styled(text, .yellow)
    case .problem: console.styled(text, .red)
    case .skipped: console.styled(text, .dim)
    }
  }

  private static func count(_ number: Int, _ what: String) -> String {
    number == 1 ? "1 \(what)" : "\(number == 0 ? "no" : String(number)) \(what)s"
  }
}

/// One thing that was looked at.
package struct CheckItem: Sendable {
  package enum Status: String, Sendable { case ok, warning, problem, skipped }

  /// The party that can fix it: the author of the configuration, or the operator of a service.
  package enum Blame: Sendable { case configuration, dependency }

  /// Its subject in one word: `templates`, `kafka`, `redis` …
  package let area: String
  package var status: Status
  let blame: Blame
  package let place: String?
  package let key: String?
  package let message: String
  package let hint: String?
}
