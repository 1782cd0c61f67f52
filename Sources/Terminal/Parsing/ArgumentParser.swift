extension Program {
  /// Reads a command line, without the program's own name in front.
  ///
  /// `--name value`, `--name=value`, `-n value`, `-nvalue`, bundled short flags, `--` before what
  /// is not an option. `--help` wins over whatever is still missing.
  package func parse(_ arguments: [String]) throws(TerminalError) -> Request {
    var parser = ArgumentParser(program: self)
    return try parser.parse(arguments[...])
  }
}

struct ArgumentParser {
  let program: Program
  private var chain: [Verb] = []
  private var values: [String: [String]] = [:]
  private var positionals: [String] = []
  private var rest: ArraySlice<String> = []

  init(program: Program) { self.program = program }

  private var path: [String] { chain.map(\.name) }
  private var options: [OptionDeclaration] { program.options(at: chain) }
  private var place: String { ([program.name] + path).joined(separator: " ") }
  private var innerVerbs: [Verb] { chain.last?.verbs ?? program.verbs }

  mutating func parse(_ arguments: ArraySlice<String>) throws(TerminalError) -> Request {
    rest = arguments
    if rest.first == "help" { return try help(path: Array(rest.dropFirst())) }
    while let word = rest.popFirst() {
      if word == "--" {
        positionals += rest
        rest = []
      } else if word.hasPrefix("--") {
        try long(word.dropFirst(2))
      } else if word.hasPrefix("-"), word.count > 1, !isNegativeNumber(word) {
        try short(word.dropFirst())
      } else if chain.last?.isGroup ?? true {
        chain.append(try verb(word))
      } else {
        positionals.append(word)
      }
      if values["help"] != nil { return .help(path: path) }
      if values["version"] != nil, chain.isEmpty { return .version }
    }
    return .run(try finish())
  }

  private func help(path: [String]) throws(TerminalError) -> Request {
    var reached = ArgumentParser(program: program)
    for name in path { reached.chain.append(try reached.verb(name)) }
    return .help(path: path)
  }

  private func verb(_ word: String) throws(TerminalError) -> Verb {
    if let verb = innerVerbs.first(where: { $0.name == word }) { return verb }
    let names = innerVerbs.filter { !$0.isHidden }.map(\.name)
    let what = chain.isEmpty ? "verb" : "verb of '\(place)'"
    let word = TextLayout.printable(word)
    throw refusal(
      .unknownVerb,
      "unknown \(what) '\(word)'" + Suggestion.question(for: word, among: names + ["help"]))
  }

  /// `-5` where a verb takes arguments and has no such option.
  private func isNegativeNumber(_ word: String) -> Bool {
    word.dropFirst().allSatisfy { $0.isASCII && $0.isNumber || $0 == "." }
      && !options.contains { $0.short == word.dropFirst().first }
  }

  private mutating func long(_ word: Substring) throws(TerminalError) {
    let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    guard let option = options.first(where: { $0.name == name }) else {
      let names = options.filter { !$0.isHidden }.map(\.name)
      let shown = TextLayout.printable(name)
      throw refusal(
        .unknownOption,
        "unknown option --\(shown)" + Suggestion.question(for: name, among: names, prefix: "--"))
    }
    try take(option, spelling: "--\(name)", attached: parts.count > 1 ? String(parts[1]) : nil)
  }

  private mutating func short(_ word: Substring) throws(TerminalError) {
    var letters = word
    while let letter = letters.popFirst() {
      guard let option = options.first(where: { $0.short == letter }) else {
        let names = options.filter { !$0.isHidden }.map(\.name)
        let shown = TextLayout.printable(String(letter))
        let guess =
          word.count > 1 ? Suggestion.question(for: String(word), among: names, prefix: "--") : ""
        throw refusal(.unknownOption, "unknown option -\(shown)" + guess)
      }
      if option.takesValue {
        let attached = letters.first == "=" ? letters.dropFirst() : letters
        let hasValue = !letters.isEmpty
        return try take(option, spelling: "-\(letter)", attached: hasValue ? String(attached) : nil)
      }
      try take(option, spelling: "-\(letter)", attached: nil)
    }
  }

  private mutating func take(
    _ option: OptionDeclaration, spelling: String, attached: String?
  ) throws(TerminalError) {
    if values[option.name] != nil, !option.isRepeatable, option.takesValue {
      throw refusal(.repeatedOption, "\(spelling) was given twice; give it once")
    }
    guard option.takesValue else {
      guard attached == nil else {
        throw refusal(.unexpectedValue, "\(spelling) takes no value; leave out what follows '='")
      }
      values[option.name] = [""]
      return
    }
    guard let value = attached ?? nextValue() else {
      throw refusal(.missingValue, "\(spelling) needs a value: \(spelling) <\(option.valueName)>")
    }
    try check(value, option.check, subject: spelling)
    values[option.name, default: []].append(value)
  }

  /// The next word, unless it is an option of this verb: then the value was forgotten.
  /// (`--name=--other` says that it was not.)
  private mutating func nextValue() -> String? {
    guard let word = rest.first else { return nil }
    let name = word.prefix { $0 != "=" }
    let isOption = options.contains {
      name == "--" + $0.name || ($0.short.map { word == "-\($0)" } ?? false)
    }
    return isOption ? nil : rest.popFirst()
  }

  private func finish() throws(TerminalError) -> ParsedCommand {
    guard let verb = chain.last, !verb.isGroup else {
      let names = innerVerbs.filter { !$0.isHidden }.map(\.name).joined(separator: ", ")
      throw refusal(.missingVerb, "'\(place)' needs a verb: \(names)")
    }
    for option in options where option.isRequired && values[option.name] == nil {
      throw refusal(
        .missingOption, "--\(option.name) is missing: --\(option.name) <\(option.valueName)>")
    }
    return ParsedCommand(
      path: path, verb: verb, options: values, arguments: try arguments(of: verb))
  }

  private func arguments(of verb: Verb) throws(TerminalError) -> [String: [String]] {
    var left = positionals[...]
    var result: [String: [String]] = [:]
    for argument in verb.arguments {
      let taken = argument.takesRest ? Array(left) : Array(left.prefix(1))
      left = left.dropFirst(taken.count)
      guard !taken.isEmpty else {
        guard argument.isRequired else { continue }
        throw refusal(.missingArgument, "<\(argument.name)> is missing: \(argument.help)")
      }
      for text in taken { try check(text, argument.check, subject: "<\(argument.name)>") }
      result[argument.name] = taken
    }
    if let extra = left.first {
      let shown = TextLayout.printable(extra)
      throw refusal(.unexpectedArgument, "'\(place)' does not take '\(shown)'")
    }
    return result
  }

  private func check(
    _ text: String, _ check: (String) throws(ValueRefusal) -> Void, subject: String
  ) throws(TerminalError) {
    do { try check(text) } catch {
      let shown = TextLayout.truncated(TextLayout.printable(text), to: 60)
      throw TerminalError(
        .invalidValue, "\(subject) '\(shown)' is refused", cause: error.reason, path: path)
    }
  }

  private func refusal(_ code: TerminalError.Code, _ message: String) -> TerminalError {
    TerminalError(code, message, path: path)
  }
}

/// The request of a command line.
package enum Request: Sendable {
  case help(path: [String])
  case version
  case run(ParsedCommand)
}

/// A mistake in a command line. The message says what to type instead.
package struct TerminalError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Code: Sendable, Equatable {
    case unknownVerb, missingVerb
    case unknownOption, repeatedOption, missingOption
    case missingValue, unexpectedValue, invalidValue
    case missingArgument, unexpectedArgument
  }

  package let code: Code
  package let message: String
  /// The reason why a value was refused.
  package let cause: String?
  /// The verbs read so far: whose `--help` to read.
  package let path: [String]

  package init(_ code: Code, _ message: String, cause: String? = nil, path: [String] = []) {
    self.code = code
    self.message = message
    self.cause = cause
    self.path = path
  }

  package var description: String { cause.map { "\(message): \($0)" } ?? message }
}
