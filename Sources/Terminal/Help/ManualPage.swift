extension Program {
  /// The manual page of the program (empty path) or of a verb, for section 1: roff with the macros
  /// of man(7). It is ASCII whatever the declarations hold, so that every roff reads it.
  package func manualPage(path: [String]) -> String {
    ManualPage(program: self, chain: chain(path) ?? []).text
  }

  /// The names of all manual pages, each with the verbs that lead to it; the program's own first.
  package var manualPages: [(name: String, path: [String])] {
    levels.map { (manualName(of: $0), $0.map(\.name)) }
  }

  fileprivate func manualName(of chain: [Verb]) -> String {
    ([name] + chain.map(\.name)).joined(separator: "-")
  }
}

/// Writes what help says as a manual page.
struct ManualPage {
  private let program: Program
  private let chain: [Verb]
  private(set) var text = ""

  init(program: Program, chain: [Verb]) {
    self.program = program
    self.chain = chain
    writeHead()
    section("VERBS", program.visibleVerbs(at: chain).map { ($0.name, $0.summary) })
    writeArguments()
    section("OPTIONS", program.visibleOptions(at: chain).map(Self.entry))
    writeExamples()
    section("EXIT STATUS", program.exitCodes(of: chain).map { ("\($0.rawValue)", $0.meaning) })
    writeTail()
  }

  private var verb: Verb? { chain.last }

  private mutating func writeHead() {
    let name = Roff.escaped(program.manualName(of: chain))
    let source = Roff.escaped("\(program.name) \(program.version)")
    // Without a date: a page changes only when a declaration does.
    text += ".TH \"\(name)\" 1 \"\" \"\(source)\" \"\(Roff.escaped(program.name)) manual\"\n"
    // No word is broken, and none is spread: names of options and keys are among them.
    text += ".nh\n.ad l\n"
    text += ".SH NAME\n\(name) \\- \(Roff.escaped(verb?.summary ?? program.summary))\n"
    text += ".SH SYNOPSIS\n\(Roff.line(program.usage(of: chain)))\n"
    guard let verb, !verb.discussion.isEmpty else { return }
    text += ".SH DESCRIPTION\n"
    var isInParagraph = false
    for line in verb.discussion.split(separator: "\n", omittingEmptySubsequences: false) {
      // Line breaks stay, as in help.
      if isInParagraph || line.isEmpty { text += line.isEmpty ? ".PP\n" : ".br\n" }
      if !line.isEmpty { text += Roff.line(String(line)) + "\n" }
      isInParagraph = !line.isEmpty
    }
  }

  private mutating func writeArguments() {
    section(
      "ARGUMENTS",
      (verb?.arguments ?? []).map {
        let hints = HelpText.hints($0.kind, $0.defaultText, environment: nil, isRequired: false)
        return ("<\($0.name)>", $0.help + hints)
      })
  }

  private static func entry(_ option: OptionDeclaration) -> (String, String) {
    let short = option.short.map { "-\($0), " } ?? ""
    let value = option.takesValue ? " <\(option.valueName)>" : ""
    let again = option.isRepeatable ? "..." : ""
    let hints = HelpText.hints(
      option.kind, option.defaultText, environment: option.environment,
      isRequired: option.isRequired)
    return ("\(short)--\(option.name)\(value)\(again)", option.help + hints)
  }

  private mutating func section(_ title: String, _ entries: [(label: String, words: String)]) {
    guard !entries.isEmpty else { return }
    text += ".SH \"\(title)\"\n"
    for entry in entries {
      text += ".TP\n\\fB\(Roff.escaped(entry.label))\\fR\n\(Roff.line(entry.words))\n"
    }
  }

  private mutating func writeExamples() {
    let examples = verb?.examples ?? program.examples
    guard !examples.isEmpty else { return }
    text += ".SH EXAMPLES\n"
    for (index, example) in examples.enumerated() {
      if index > 0 { text += ".PP\n" }
      text += "\(Roff.line(example.meaning)):\n"
      // Never filled: an example is there to be pasted.
      text += ".RS 4\n.nf\n\(Roff.line(example.command))\n.fi\n.RE\n"
    }
  }

  private mutating func writeTail() {
    let below = program.visibleVerbs(at: chain).map { chain + [$0] }
    let others = (chain.isEmpty ? [] : [Array(chain.dropLast())]) + below
    if !others.isEmpty {
      let pages = others.map { "\\fB\(Roff.escaped(program.manualName(of: $0)))\\fR(1)" }
      text += ".SH \"SEE ALSO\"\n" + pages.joined(separator: ",\n") + "\n"
    }
    if chain.isEmpty, !program.epilogue.isEmpty { text += ".PP\n\(Roff.line(program.epilogue))\n" }
  }
}

/// Words as roff takes them.
enum Roff {
  /// For the middle of a line, and inside quotes.
  static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in TextLayout.printable(text).unicodeScalars {
      switch scalar {
      case "\\": result += "\\e"
      // Plain ones become hyphens and typographic quotes, which no shell takes.
      case "-": result += "\\-"
      case "'": result += "\\(aq"
      case "`": result += "\\(ga"
      case "\"": result += "\\(dq"
      case "^": result += "\\(ha"
      case "~": result += "\\(ti"
      default:
        if scalar.isASCII {
          result.unicodeScalars.append(scalar)
        } else {
          result += "\\[u\(hexadecimal(scalar))]"
        }
      }
    }
    return result
  }

  /// For a line of its own, which must not look like a request.
  static func line(_ text: String) -> String {
    let text = escaped(text)
    return text.hasPrefix(".") ? "\\&" + text : text
  }

  /// At least four digits, as groff wants them.
  private static func hexadecimal(_ scalar: Unicode.Scalar) -> String {
    let digits = String(scalar.value, radix: 16, uppercase: true)
    return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }
}

extension Verb {
  private static let list = Option(
    flag: "list", help: "Print the name of each page and the verbs that lead to it")
  private static let words = Argument(rest: "verb", .text, help: "The verb that the page is about")

  /// `man [VERB]`, ready for a program's verbs.
  package static func manual(program: String) -> Verb {
    Verb(
      "man", summary: "Print the manual page of the program or of a verb, for man",
      options: [list], arguments: [words],
      examples: [
        Example("\(program) man worker | man -l -", "Read a page that is not installed"),
        Example(
          "\(program) man > /usr/local/share/man/man1/\(program).1", "Install the program's page"),
      ], exitCodes: [.ok]
    ) { invocation throws(CommandFailure) in
      let program = invocation.program
      let path = invocation[words]
      if invocation[list] {
        guard path.isEmpty else { throw CommandFailure(.usage, "--list takes no verb") }
        for page in program.manualPages {
          invocation.output.line(([page.name] + page.path).joined(separator: " "))
        }
        return .ok
      }
      guard program.chain(path) != nil else {
        let names = program.manualPages.map { $0.path.joined(separator: " ") }
        let typed = path.joined(separator: " ")
        throw CommandFailure(
          .usage, "there is no verb '\(typed)'" + Suggestion.question(for: typed, among: names))
      }
      invocation.output.write(program.manualPage(path: path))
      return .ok
    }
  }
}
