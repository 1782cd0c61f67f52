import Text

/// How text on a command line becomes a value of type `Value`.
package struct ValueParser<Value: Sendable>: Sendable {
  package let kind: ValueKind
  let parse: @Sendable (String) throws(ValueRefusal) -> Value
  /// The inverse, for defaults in help; what it shows must parse.
  let show: @Sendable (Value) -> String

  package init(
    kind: ValueKind, parse: @escaping @Sendable (String) throws(ValueRefusal) -> Value,
    show: @escaping @Sendable (Value) -> String
  ) {
    self.kind = kind
    self.parse = parse
    self.show = show
  }
}

extension ValueParser where Value == String {
  /// Any text, the empty one too.
  package static var text: ValueParser { ValueParser(kind: .text, parse: { $0 }, show: { $0 }) }

  /// A file or directory, not looked at here; refused when empty.
  package static var path: ValueParser {
    ValueParser(
      kind: .path,
      parse: { (text: String) throws(ValueRefusal) -> String in
        guard !text.isEmpty else { throw ValueRefusal("it must be a path, and is empty") }
        return text
      },
      show: { $0 })
  }
}

extension ValueParser where Value == Int {
  /// Decimal digits, `_` between them, and `k` or `M` for thousands and millions: `250_000`,
  /// `250k`, `1M`.
  package static func integer(in range: ClosedRange<Int> = .min ... .max) -> ValueParser {
    ValueParser(
      kind: .integer(range),
      parse: { (text: String) throws(ValueRefusal) -> Int in
        guard let value = Self.integer(text) else {
          throw ValueRefusal("it must be a whole number, such as 250000, 250k or 1M")
        }
        guard range.contains(value) else {
          throw ValueRefusal("it must be \(ValueKind.integer(range).bounds ?? "a whole number")")
        }
        return value
      },
      show: { String($0) })
  }

  private static func integer(_ text: String) -> Int? {
    var digits = text
    var scale = 1
    switch text.last {
    case "k": scale = 1_000
    case "M": scale = 1_000_000
    default: break
    }
    if scale > 1 { digits.removeLast() }
    guard digits.last?.isNumber == true, digits.first != "_", digits.first != "+" else {
      return nil
    }
    guard let value = Int(digits.filter { $0 != "_" }) else { return nil }
    let (product, overflow) = value.multipliedReportingOverflow(by: scale)
    return overflow ? nil : product
  }
}

extension ValueParser where Value == Double {
  /// A decimal number such as `0.05` or `1e-3`.
  package static func number(in range: ClosedRange<Double>) -> ValueParser {
    ValueParser(
      kind: .number(range),
      parse: { (text: String) throws(ValueRefusal) -> Double in
        let isPlain = text.utf8.allSatisfy { "0123456789.eE+-".utf8.contains($0) }
        guard isPlain, let value = Double(text), value.isFinite else {
          throw ValueRefusal("it must be a number, such as 0.05")
        }
        guard range.contains(value) else {
          throw ValueRefusal("it must be \(ValueKind.number(range).bounds ?? "a number")")
        }
        return value
      },
      show: { Figures.number($0) })
  }
}

extension ValueParser where Value == Duration {
  /// Numbers with units: `250ms`, `1.5s`, `1m30s`, `2h`, `1d`. A unit is always wanted, except
  /// after 0.
  package static func duration(
    in range: ClosedRange<Duration> = .zero ... .seconds(365 * 86_400)
  ) -> ValueParser {
    ValueParser(
      kind: .duration(range),
      parse: { (text: String) throws(ValueRefusal) -> Duration in
        guard let value = try? DurationText.parse(text) else {
          throw ValueRefusal("it must be a time with its unit, such as 250ms, 30s, 1m30s or 2h")
        }
        guard range.contains(value) else {
          throw ValueRefusal("it must be \(ValueKind.duration(range).bounds ?? "a time")")
        }
        return value
      },
      show: { DurationText.text($0) })
  }
}

extension ValueParser
where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
  /// One of the enum's raw values; a mistyped one is answered with the nearest.
  package static func choice() -> ValueParser {
    let names = Value.allCases.map(\.rawValue)
    return ValueParser(
      kind: .choice(names),
      parse: { (text: String) throws(ValueRefusal) -> Value in
        guard let value = Value(rawValue: text) else {
          throw ValueRefusal(
            "it must be one of \(names.joined(separator: ", "))"
              + Suggestion.question(for: text, among: names))
        }
        return value
      },
      show: { $0.rawValue })
  }
}

extension Figures {
  /// The shortest decimal form: `0.05`, `1`.
  package static func number(_ value: Double) -> String {
    value == value.rounded() && value.magnitude < 1e15 ? fixed(value, digits: 0) : value.description
  }
}

/// Why a value was refused: half a sentence that follows the option's name.
package struct ValueRefusal: Error, Sendable, Equatable {
  package let reason: String
  package init(_ reason: String) { self.reason = reason }
}

/// The argument `NAME=VALUE` of the command line. The value may be empty and hold further `=`.
package struct NamedValue: Sendable, Equatable {
  package let name: String
  package let value: String
}

extension ValueParser where Value == NamedValue {
  /// - Parameter form: what the refusal of anything else asks for.
  package static func named(_ form: String) -> ValueParser {
    ValueParser(
      kind: .text,
      parse: { (text: String) throws(ValueRefusal) in
        let sides = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard sides.count == 2, !sides[0].isEmpty else { throw ValueRefusal("it must be \(form)") }
        return NamedValue(name: String(sides[0]), value: String(sides[1]))
      }, show: { "\($0.name)=\($0.value)" })
  }
}
