import Settings
import Terminal

/// Everything that was looked at, in order.
package struct CheckList: Sendable {
  package private(set) var items: [CheckItem] = []
  /// Warnings count as problems.
  package let deniesWarnings: Bool

  package init(deniesWarnings: Bool) { self.deniesWarnings = deniesWarnings }

  package mutating func ok(_ id: String, _ message: String, of subject: String? = nil) {
    add(id, .ok, .configuration, message, subject)
  }

  package mutating func skipped(_ id: String, _ message: String, of subject: String? = nil) {
    add(id, .skipped, .configuration, message, subject)
  }

  package mutating func warning(
    _ id: String, _ blame: CheckItem.Blame, _ message: String, of subject: String? = nil,
    key: String? = nil, hint: String? = nil
  ) {
    add(id, deniesWarnings ? .problem : .warning, blame, message, subject, key: key, hint: hint)
  }

  package mutating func problem(
    _ id: String, _ blame: CheckItem.Blame, _ message: String, of subject: String? = nil,
    key: String? = nil, hint: String? = nil
  ) {
    add(id, .problem, blame, message, subject, key: key, hint: hint)
  }

  package mutating func add(_ id: String, _ finding: SettingsFinding) {
    let isProblem = finding.severity == .problem || deniesWarnings
    items.append(
      CheckItem(
        id: id, subject: nil, status: isProblem ? .problem : .warning, blame: .configuration,
        place: finding.place, key: finding.key, message: finding.message, hint: finding.hint))
  }

  package mutating func add(_ id: String, _ error: SettingsError) {
    for problem in error.problems { add(id, problem) }
  }

  package mutating func append(_ other: CheckList) { items += other.items }

  private mutating func add(
    _ id: String, _ status: CheckItem.Status, _ blame: CheckItem.Blame, _ message: String,
    _ subject: String?, key: String? = nil, hint: String? = nil
  ) {
    items.append(
      CheckItem(
        id: id, subject: subject, status: status, blame: blame, place: nil, key: key,
        message: message, hint: hint))
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

  /// The verdict of `fanfare doctor`: a service that is down comes first, since what it would have
  /// said is not known. Warnings are something wrong, too.
  package var doctorExitCode: ExitCode {
    let wrong = items.filter(\.isWrong)
    if wrong.contains(where: { $0.blame == .outage }) { return .unavailable }
    return wrong.isEmpty ? .ok : .failed
  }

  /// Only what is wrong.
  package var onlyWrong: CheckList {
    var list = self
    list.items.removeAll { !$0.isWrong }
    return list
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

  package var json: JSONOutput { json(ok: problems == 0) }

  /// - Parameter ok: whether all is well, by the caller's measure.
  package func json(ok: Bool) -> JSONOutput {
    let checks = items.map { item -> JSONOutput in
      var object: JSONObject = [
        "id": .text(item.id), "area": .text(item.area), "status": .text(item.status.rawValue),
        "message": .text(item.message),
      ]
      if let subject = item.subject { object["subject"] = .text(subject) }
      if let place = item.place { object["place"] = .text(place) }
      if let key = item.key { object["key"] = .text(key) }
      if let hint = item.hint { object["hint"] = .text(hint) }
      return .object(object)
    }
    return [
      "ok": .bool(ok), "problems": .integer(problems), "warnings": .integer(warnings),
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
  /// `outage`: the operator of a service that does not answer.
  package enum Blame: Sendable { case configuration, dependency, outage }

  /// The name of the question, the same in every release: `redis.persistence`. Several items have
  /// one where there are several subjects.
  package let id: String
  /// One of several that the question is asked of: a topic, a server, a host.
  package let subject: String?
  package var status: Status
  let blame: Blame
  package let place: String?
  package let key: String?
  package let message: String
  package let hint: String?

  /// The part of the id before its first dot: `templates`, `kafka`, `redis` …
  package var area: String { String(id.prefix { $0 != "." }) }
  package var isWrong: Bool { status == .problem || status == .warning }
}
