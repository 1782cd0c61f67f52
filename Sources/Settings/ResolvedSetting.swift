import Text

/// A key with the value that is used, and where that value comes from. It never holds a secret.
package struct ResolvedSetting: Sendable, Equatable {
  /// A value as it may be shown: durations and sizes as a configuration writes them.
  package enum Value: Sendable, Equatable {
    case notSet
    /// There is a value, which must not be seen.
    case redacted
    case text(String)
    case integer(Int)
    case bool(Bool)
    case list([String])
    /// In the order of the names; nil: this entry must not be seen.
    case entries([Entry])
  }

  package struct Entry: Sendable, Equatable {
    package let name: String
    package let value: String?
  }

  package enum Origin: Sendable, Equatable, CustomStringConvertible {
    case source(SettingSource)
    /// A secret that was read from the file at `path`; `namedBy` says where this path comes from.
    case secretFile(path: String, namedBy: SettingSource)
    /// Each process makes this value up.
    case process

    package var description: String {
      switch self {
      case .source(let source): source.description
      case .secretFile(let path, let source): "the file \(Shown.path(path)), named by \(source)"
      case .process: "this process"
      }
    }

    package var isDefault: Bool { self == .source(.builtIn) || self == .process }
  }

  package let path: String
  package let value: Value
  /// More than one for a mapping to which flags have added entries, the flags last.
  package let origins: [Origin]

  /// False for defaults, also for those that a process makes up.
  package var isChanged: Bool { !origins.allSatisfy(\.isDefault) }
}

extension ResolvedSetting.Value {
  /// - Parameter value: nil: the key is not set.
  init(_ value: SettingValue?, of kind: SettingKind) {
    guard let value else {
      self = .notSet
      return
    }
    switch (kind, value) {
    case (.secret, _): self = .redacted
    case (.size, .integer(let bytes)): self = .text(SizeText.text(bytes))
    case (_, .text(let text)): self = .text(text)
    case (_, .integer(let number)): self = .integer(number)
    case (_, .duration(let duration)): self = .text(DurationText.text(duration))
    case (_, .bool(let flag)): self = .bool(flag)
    case (_, .list(let items)): self = .list(items)
    case (_, .map(let entries)):
      self = .entries(
        entries.sorted { $0.key < $1.key }.map { name, value in
          .init(name: name, value: KafkaProperties.isSecret(name, kind) ? nil : value)
        })
    }
  }

  /// On one line, as the configuration could hold it.
  package var text: String {
    switch self {
    case .notSet: "-"
    case .redacted: "(redacted)"
    case .text(let text): text
    case .integer(let number): String(number)
    case .bool(let flag): flag ? "true" : "false"
    case .list(let items): "[\(items.joined(separator: ", "))]"
    case .entries(let entries):
      "{"
        + entries.map { entry in
          let value = entry.value.map { $0.replacing("\n", with: " ") } ?? "(redacted)"
          return "\(entry.name): \(value)"
        }.joined(separator: ", ") + "}"
    }
  }
}
