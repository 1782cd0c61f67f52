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
        guard sides.count == 2, !sides[0].isEmpty else {
          throw ValueRefusal("it must be \(form)")
        }
        return NamedValue(name: String(sides[0]), value: String(sides[1]))
      }, show: { "\($0.name)=\($0.value)" })
  }
}
