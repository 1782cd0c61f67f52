import Settings
import Terminal

/// The configuration as a process would use it: each key, its value and where that comes from.
/// Secrets are not in it.
package struct ConfigurationListing: Sendable {
  private let file: String?
  private let settings: [ResolvedSetting]
  private let problems: [SettingsFinding]

  /// - Parameters:
  ///   - file: where the report was read.
  ///   - prefix: only keys that begin with it, such as `redis` or `kafka.topics`; nil: all.
  ///   - onlyChanged: leave out the keys that have their defaults.
  package init(_ report: SettingsReport, file: String?, prefix: String?, onlyChanged: Bool) {
    self.file = file
    problems = report.problems
    settings = report.resolved.filter {
      $0.path.hasPrefix(prefix ?? "") && (!onlyChanged || $0.isChanged)
    }
  }

  /// Why no key can begin with this prefix; nil when there is one.
  package static func complaint(aboutPrefix prefix: String) -> String? {
    guard !SettingTable.keys.contains(where: { $0.path.hasPrefix(prefix) }) else { return nil }
    let hint = SettingTable.hint(for: prefix).map { ": \($0)" } ?? ""
    return "no setting begins with \(Shown.value(prefix))\(hint)"
  }

  /// A setting that is wrong is shown as its default: its value is not used.
  package var exitCode: ExitCode { problems.isEmpty ? .ok : .config }

  /// A table of keys, values and origins.
  package func write(to console: Console) {
    guard !settings.isEmpty else {
      console.line("every setting has its default")
      return
    }
    var table = Table([.init("setting"), .init("value"), .init("from")])
    for setting in settings {
      table.add([
        setting.path, setting.value.text,
        setting.origins.map(\.description).joined(separator: ", "),
      ])
    }
    table.write(to: console)
  }

  package var json: JSONOutput {
    [
      "ok": .bool(problems.isEmpty), "file": file.map { .text($0) } ?? nil,
      "settings": .array(
        settings.map { setting in
          [
            "key": .text(setting.path), "value": Self.json(setting.value),
            "redacted": .bool(setting.value == .redacted), "changed": .bool(setting.isChanged),
            "from": .array(setting.origins.map(Self.json)),
          ]
        }),
    ]
  }

  private static func json(_ value: ResolvedSetting.Value) -> JSONOutput {
    switch value {
    case .notSet, .redacted: nil
    case .text(let text): .text(text)
    case .integer(let number): .integer(number)
    case .bool(let flag): .bool(flag)
    case .list(let items): .array(items.map { .text($0) })
    case .entries(let entries):
      .object(
        JSONObject(
          unique: entries.map { entry in
            (name: entry.name, value: entry.value.map { .text($0) } ?? "(redacted)")
          }))
    }
  }

  private static func json(_ origin: ResolvedSetting.Origin) -> JSONOutput {
    switch origin {
    case .process: return ["kind": "process"]
    case .secretFile(let path, let source):
      return ["kind": "secret_file", "path": .text(path), "named_by": json(.source(source))]
    case .source(.builtIn): return ["kind": "default"]
    case .source(.environment(let name)): return ["kind": "environment", "name": .text(name)]
    case .source(.flag(let key)): return ["kind": "flag", "name": .text("--set \(key)")]
    case .source(.file(let path, let place)):
      return [
        "kind": "file", "path": .text(path), "line": .integer(place.line),
        "column": .integer(place.column),
      ]
    }
  }
}
