/// One row of the table: a key's name, what it takes, its default, what it is for, and where its
/// value goes.
package struct SettingKey: Sendable {
  /// Dotted: `kafka.session_timeout`.
  package let path: String
  package let kind: SettingKind
  /// Nil when the key is not set by default.
  package let defaultValue: SettingValue?
  /// One or two sentences, with the reason of a bound.
  package let explanation: String
  /// The value in the example file, commented out, for a key that is not set by default.
  package let example: String?
  /// Puts a value of this kind into its field; does nothing for a value of another kind.
  package let apply: @Sendable (inout Settings, SettingValue) -> Void

  /// `FANFARE_` and the path in capitals, `_` for `.`.
  package var environmentName: String { Self.environmentName(of: path) }

  package static func environmentName(of path: String) -> String {
    "FANFARE_" + String(path.uppercased().map { $0 == "." ? "_" : $0 })
  }
}

typealias Target<Value> = WritableKeyPath<Settings, Value> & Sendable

extension SettingKey {
  static func text(
    _ path: String, _ target: any Target<String>, default text: String, _ rule: TextRule,
    _ explanation: String
  ) -> SettingKey {
    SettingKey(
      path: path, kind: .text(rule), defaultValue: .text(text), explanation: explanation,
      example: nil
    ) { if case .text(let text) = $1 { $0[keyPath: target] = text } }
  }

  static func text(
    _ path: String, _ target: any Target<String?>, example: String, _ rule: TextRule,
    _ explanation: String
  ) -> SettingKey {
    SettingKey(
      path: path, kind: .text(rule), defaultValue: nil, explanation: explanation, example: example
    ) { if case .text(let text) = $1 { $0[keyPath: target] = text } }
  }

  /// A text that the process makes up when it is not set.
  static func text(
    _ path: String, _ target: any Target<String>, example: String, _ rule: TextRule,
    _ explanation: String
  ) -> SettingKey {
    SettingKey(
      path: path, kind: .text(rule), defaultValue: nil, explanation: explanation, example: example
    ) { if case .text(let text) = $1 { $0[keyPath: target] = text } }
  }

  static func secret(
    _ path: String, _ target: any Target<Secret?>, _ explanation: String
  ) -> SettingKey {
    SettingKey(
      path: path, kind: .secret, defaultValue: nil, explanation: explanation, example: "\"…\""
    ) { if case .text(let text) = $1 { $0[keyPath: target] = Secret(text) } }
  }

  /// A secret's file that is read again later: the field has its path while the secret is its.
  static func secretFile(
    _ path: String, _ target: any Target<String?>, of secret: String, example: String,
    _ explanation: String
  ) -> SettingKey {
    SettingKey(
      path: path, kind: .secretFile(of: secret), defaultValue: nil, explanation: explanation,
      example: example
    ) { if case .text(let text) = $1 { $0[keyPath: target] = text } }
  }

  static func secretFile(
    _ path: String, of secret: String, example: String, _ explanation: String
  ) -> SettingKey {
    SettingKey(
      path: path, kind: .secretFile(of: secret), defaultValue: nil, explanation: explanation,
      example: example
    ) { _, _ in }
  }

  static func path(
    _ path: String, _ target: any Target<String>, default text: String, _ explanation: String
  ) -> SettingKey {
    SettingKey(
      path: path, kind: .path, defaultValue: .text(text), explanation: explanation, example: nil
    ) { if case .text(let text) = $1 { $0[keyPath: target] = text } }
  }

  static func path(
    _ path: String, _ target: any Target<String?>, example: String, _ explanation: String
  ) -> SettingKey {
    SettingKey(
      path: path, kind: .path, defaultValue: nil, explanation: explanation, example: example
    ) { if case .text(let text) = $1 { $0[keyPath: target] = text } }
  }

  static func integer(
    _ path: String, _ target: any Target<Int>, default number: Int, _ range: ClosedRange<Int>,
    _ explanation: String
  ) -> SettingKey {
    SettingKey(
      path: path, kind: .integer(range), defaultValue: .integer(number), explanation: explanation,
      example: nil
    ) { if case .integer(let number) = $1 { $0[keyPath: target] = number } }
  }

  static func size(
    _ path: String, _ target: any Target<Int>, default bytes: Int, _ range: ClosedRange<Int>,
    _ explanation: String
  ) -> SettingKey {
    SettingKey(
      path: path, kind: .size(range), defaultValue: .integer(bytes), explanation: explanation,
      example: nil
    ) { if case .integer(let bytes) = $1 { $0[keyPath: target] = bytes } }
  }

  static func duration(
    _ path: String, _ target: any Target<Duration>, default duration: Duration,
    _ range: ClosedRange<Duration>, _ explanation: String
  ) -> SettingKey {
    SettingKey(
      path: path, kind: .duration(range), defaultValue: .duration(duration),
      explanation: explanation, example: nil
    ) { if case .duration(let duration) = $1 { $0[keyPath: target] = duration } }
  }

  static func bool(
    _ path: String, _ target: any Target<Bool>, default flag: Bool, _ explanation: String
  ) -> SettingKey {
    SettingKey(
      path: path, kind: .bool, defaultValue: .bool(flag), explanation: explanation, example: nil
    ) { if case .bool(let flag) = $1 { $0[keyPath: target] = flag } }
  }

  static func choice<Choice: RawRepresentable<String> & CaseIterable & Sendable>(
    _ path: String, _ target: any Target<Choice>, default choice: Choice, _ explanation: String
  ) -> SettingKey {
    SettingKey(
      path: path, kind: .choice(Choice.allCases.map(\.rawValue)),
      defaultValue: .text(choice.rawValue), explanation: explanation, example: nil
    ) {
      if case .text(let text) = $1, let choice = Choice(rawValue: text) {
        $0[keyPath: target] = choice
      }
    }
  }

  static func choice<Choice: RawRepresentable<String> & CaseIterable & Sendable>(
    _ path: String, _ target: any Target<Choice?>, example: Choice, _ explanation: String
  ) -> SettingKey {
    SettingKey(
      path: path, kind: .choice(Choice.allCases.map(\.rawValue)), defaultValue: nil,
      explanation: explanation, example: example.rawValue
    ) { if case .text(let text) = $1 { $0[keyPath: target] = Choice(rawValue: text) } }
  }

  static func list(
    _ path: String, _ target: any Target<[String]>, default items: [String], _ rule: TextRule,
    _ explanation: String
  ) -> SettingKey {
    SettingKey(
      path: path, kind: .list(rule), defaultValue: .list(items), explanation: explanation,
      example: nil
    ) { if case .list(let items) = $1 { $0[keyPath: target] = items } }
  }

  /// A list that is empty when it is not set.
  static func list(
    _ path: String, _ target: any Target<[String]>, example: String, _ rule: TextRule,
    _ explanation: String
  ) -> SettingKey {
    SettingKey(
      path: path, kind: .list(rule), defaultValue: nil, explanation: explanation, example: example
    ) { if case .list(let items) = $1 { $0[keyPath: target] = items } }
  }

  /// Records of text fields, by name.
  static func records<Record>(
    _ path: String, _ target: any Target<[String: Record]>, fields: [String: SettingKind],
    _ make: @escaping @Sendable ([String: String]) -> [String: Record], _ explanation: String
  ) -> SettingKey {
    SettingKey(
      path: path, kind: .records(fields), defaultValue: .map([:]), explanation: explanation,
      example: nil
    ) { if case .map(let entries) = $1 { $0[keyPath: target] = make(entries) } }
  }

  static func map(
    _ path: String, _ target: any Target<[String: String]>,
    _ rule: @escaping @Sendable (String, String) -> SettingComplaint?, _ explanation: String
  ) -> SettingKey {
    SettingKey(
      path: path, kind: .map(rule), defaultValue: .map([:]), explanation: explanation, example: nil
    ) { if case .map(let entries) = $1 { $0[keyPath: target] = entries } }
  }
}
