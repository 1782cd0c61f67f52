import Terminal
import Text

extension Program {
  /// Every way in which the declaration contradicts itself; empty for a sound one.
  package var problems: [String] {
    var found: [String] = []
    found += Self.problems(ofNames: verbs.map(\.name), what: "verb", at: name)
    found += problems(ofOptionsAt: [], label: name)
    for verb in verbs { found += problems(of: [verb], label: "\(name) \(verb.name)") }
    return found
  }

  private func problems(of chain: [Verb], label: String) -> [String] {
    guard let verb = chain.last else { return [] }
    var found = problems(ofOptionsAt: chain, label: label)
    if verb.summary.isEmpty { found.append("\(label): no summary") }
    if verb.handler == nil, verb.verbs.isEmpty { found.append("\(label): a group without verbs") }
    found += Self.problems(ofArguments: verb.arguments, label: label)
    found += Self.problems(ofNames: verb.verbs.map(\.name), what: "verb", at: label)
    for inner in verb.verbs {
      found += problems(of: chain + [inner], label: "\(label) \(inner.name)")
    }
    return found
  }

  private func problems(ofOptionsAt chain: [Verb], label: String) -> [String] {
    let options = options(at: chain)
    var found = Self.problems(ofNames: options.map(\.name), what: "option --", at: label)
    var shorts: Set<Character> = []
    for option in options {
      if let short = option.short {
        if !shorts.insert(short).inserted {
          found.append("\(label): option -\(short) is declared twice")
        }
        if !(short.isASCII && (short.isLetter || short.isNumber)) {
          found.append("\(label): -\(short) is no letter or digit")
        }
      }
      if option.help.isEmpty { found.append("\(label): option --\(option.name) has no help") }
      if let text = option.defaultText, let refusal = Self.refusal(text, option.check) {
        found.append("\(label): the default of --\(option.name) is refused: \(refusal)")
      }
      if case .choice(let names) = option.kind, names.isEmpty {
        found.append("\(label): option --\(option.name) has no choices")
      }
    }
    return found
  }

  private static func problems(
    ofArguments arguments: [ArgumentDeclaration], label: String
  ) -> [String] {
    var found = problems(ofNames: arguments.map(\.name), what: "argument", at: label)
    var optional: String?
    for (index, argument) in arguments.enumerated() {
      if argument.takesRest, index + 1 < arguments.count {
        found.append("\(label): <\(argument.name)> takes the rest and is not the last")
      }
      if let optional, argument.isRequired {
        found.append("\(label): <\(argument.name)> is required after the optional <\(optional)>")
      }
      if !argument.isRequired { optional = argument.name }
      if let text = argument.defaultText, let refusal = refusal(text, argument.check) {
        found.append("\(label): the default of <\(argument.name)> is refused: \(refusal)")
      }
    }
    return found
  }

  private static func refusal(
    _ text: String, _ check: (String) throws(ValueRefusal) -> Void
  ) -> String? {
    do { try check(text) } catch { return error.reason }
    return nil
  }

  private static func problems(ofNames names: [String], what: String, at label: String) -> [String]
  {
    let what = what.hasSuffix("-") ? what : what + " "
    var seen: Set<String> = []
    var found: [String] = []
    for name in names {
      if !seen.insert(name).inserted {
        found.append("\(label): \(what)\(name) is declared twice")
      }
      let isName = name.utf8.allSatisfy {
        $0.isASCIILower || $0.isASCIIDigit || $0 == 0x2D
      }
      if !isName || name.isEmpty || name.hasPrefix("-") || name.hasSuffix("-") {
        found.append(
          "\(label): \(what)\(name) is not made of lower-case letters, digits and dashes")
      }
    }
    return found
  }
}
