import YAML

/// One thing that is wrong, or looks wrong, with its place, its key and what to do.
package struct SettingsFinding: Sendable, Equatable, CustomStringConvertible {
  package enum Severity: String, Sendable {
    /// Nothing may start with it.
    case problem
    case warning
  }

  package var severity: Severity
  /// `fanfare.yaml:12:5`, `environment FANFARE_…`, `--set …`, a file's path; nil when there is no
  /// place.
  package let place: String?
  package let key: String?
  package let message: String
  package let hint: String?

  package init(
    _ severity: Severity, place: String?, key: String?, message: String, hint: String? = nil
  ) {
    self.severity = severity
    self.place = place
    self.key = key
    self.message = message
    self.hint = hint
  }

  /// The key where it is to be said beside the place: `--set redis.port` says it itself.
  package static func key(_ key: String?, beside place: String?) -> String? {
    place == key.map { SettingSource.flag($0).description } ? nil : key
  }

  /// `fanfare.yaml:12:5: warning: kafka.gruop: unknown key (did you mean kafka.group?)`
  package var description: String {
    var text = place.map { "\($0): " } ?? ""
    if severity == .warning { text += "warning: " }
    if let key = Self.key(key, beside: place) { text += "\(key): " }
    text += message
    if let hint { text += " (\(hint))" }
    return text
  }
}

/// A complaint about one value, without its place.
package struct SettingComplaint: Error, Sendable, Equatable {
  package let message: String
  package let hint: String?

  package init(_ message: String, hint: String? = nil) {
    self.message = message
    self.hint = hint
  }
}
