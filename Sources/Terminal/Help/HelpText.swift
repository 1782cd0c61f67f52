extension Program {
  /// The help of the program (empty path) or of a verb, wrapped to the console's width.
  package func help(path: [String], on console: Console) -> String {
    HelpText(program: self, chain: chain(path) ?? [], console: console).text
  }
}

extension Program {
  /// What a command line of a level looks like: `fanfare emit [options] --streamer <TEXT>`.
  func usage(of chain: [Verb]) -> String {
    var usage = ([name] + chain.map(\.name)).joined(separator: " ")
    if chain.last?.isGroup ?? true { usage += " <verb>" }
    usage += " [options]"
    for argument in chain.last?.arguments ?? [] { usage += " " + argument.usage }
    for option in chain.last?.options ?? [] where option.isRequired {
      usage += " --\(option.name) <\(option.valueName)>"
    }
    return usage
  }

  /// The codes that a level's verb may end with: all of them for the program, none for a group.
  func exitCodes(of chain: [Verb]) -> [ExitCode] {
    guard let verb = chain.last else { return ExitCode.allCases }
    guard !verb.isGroup else { return [] }
    return ExitCode.allCases.filter { verb.exitCodes.contains($0) || $0 == .usage }
  }
}

/// Lays out help: one column of names, one of explanations; below each other where the terminal is
/// narrow.
struct HelpText {
  private let program: Program
  private let chain: [Verb]
  private let console: Console
  private let width: Int
  private(set) var text = ""

  /// Longer lines are hard to read, whatever the terminal offers.
  private static let maximumWidth = 100
  private static let maximumLabel = 30
  /// Below this many cells for explanations, they go under the names.
  private static let minimumExplanation = 28

  private struct Entry {
    let label: String
    let explanation: String
  }

  init(program: Program, chain: [Verb], console: Console) {
    self.program = program
    self.chain = chain
    self.console = console
    width = min(console.width, Self.maximumWidth)
    writeHead()
    writeVerbs()
    writeArguments()
    writeOptions()
    writeExamples()
    writeExitCodes()
    if chain.isEmpty { writeTail() }
  }

  private var verb: Verb? { chain.last }
  private var command: String { ([program.name] + chain.map(\.name)).joined(separator: " ") }

  private mutating func writeHead() {
    paragraph("\(command): \(verb?.summary ?? program.summary)")
    text += "\n"
    let usage = program.usage(of: chain)
    let lines = TextLayout.wrapped(usage, to: max(width - 7, 1))
    text += console.styled("Usage:", .bold) + " " + lines.joined(separator: "\n         ") + "\n"
    if let verb, !verb.discussion.isEmpty {
      text += "\n"
      paragraph(verb.discussion)
    }
  }

  private mutating func writeVerbs() {
    let verbs = (verb?.verbs ?? program.verbs).filter { !$0.isHidden }
    section("Verbs", verbs.map { Entry(label: $0.name, explanation: $0.summary) })
  }

  private mutating func writeArguments() {
    section(
      "Arguments",
      (verb?.arguments ?? []).map {
        let hints = Self.hints($0.kind, $0.defaultText, environment: nil, isRequired: false)
        return Entry(label: "<\($0.name)>", explanation: $0.help + hints)
      })
  }

  private mutating func writeOptions() {
    let own = chain.reversed().flatMap(\.options)
    section("Options", own.filter { !$0.isHidden }.map(Self.entry))
    let shared =
      program.options + Program.builtIn + (chain.isEmpty ? [Program.versionOption] : [])
    section(
      own.isEmpty ? "Options" : "Global options", shared.filter { !$0.isHidden }.map(Self.entry))
  }

  private static func entry(_ option: OptionDeclaration) -> Entry {
    let short = option.short.map { "-\($0), " } ?? "    "
    let value = option.takesValue ? " <\(option.valueName)>" : ""
    let again = option.isRepeatable ? "..." : ""
    let hints = hints(
      option.kind, option.defaultText, environment: option.environment,
      isRequired: option.isRequired)
    return Entry(
      label: "\(short)--\(option.name)\(value)\(again)", explanation: option.help + hints)
  }

  static func hints(
    _ kind: ValueKind, _ defaultText: String?, environment: String?, isRequired: Bool
  ) -> String {
    var hints: [String] = []
    if let bounds = kind.bounds { hints.append(bounds) }
    if isRequired { hints.append("required") }
    if let defaultText, !defaultText.isEmpty {
      let isLong = defaultText.count > 4
      let grouped = isLong ? Int(defaultText).map(Figures.grouped) : nil
      hints.append("default " + (grouped ?? defaultText))
    }
    if let environment { hints.append("env: \(environment)") }
    return hints.isEmpty ? "" : " (\(hints.joined(separator: "; ")))"
  }

  private mutating func writeExamples() {
    let examples = verb?.examples ?? program.examples
    guard !examples.isEmpty else { return }
    heading("Examples")
    for example in examples {
      // Never wrapped: an example is there to be pasted.
      text += "  \(example.command)\n"
      indented(example.meaning, by: 6)
    }
  }

  private mutating func writeExitCodes() {
    let codes = program.exitCodes(of: chain)
    section("Exit codes", codes.map { Entry(label: "\($0.rawValue)", explanation: $0.meaning) })
  }

  private mutating func writeTail() {
    text += "\n"
    paragraph("Run '\(program.name) <verb> --help' for more about a verb.")
    if !program.epilogue.isEmpty { paragraph(program.epilogue) }
  }

  private mutating func heading(_ title: String) {
    text += "\n" + console.styled(title + ":", .bold) + "\n"
  }

  private mutating func paragraph(_ words: String) {
    text += TextLayout.wrapped(words, to: width).joined(separator: "\n") + "\n"
  }

  private mutating func indented(_ words: String, by indent: Int) {
    let space = String(repeating: " ", count: indent)
    for line in TextLayout.wrapped(words, to: width - indent) { text += space + line + "\n" }
  }

  private mutating func section(_ title: String, _ entries: [Entry]) {
    guard !entries.isEmpty else { return }
    heading(title)
    let widest = entries.map { DisplayWidth.cells($0.label) }.filter { $0 <= Self.maximumLabel }
      .max()
    let column = 2 + (widest ?? 0) + 2
    let isNarrow = width - column < Self.minimumExplanation
    for entry in entries {
      if isNarrow || DisplayWidth.cells(entry.label) > Self.maximumLabel {
        text += "  \(entry.label)\n"
        indented(entry.explanation, by: isNarrow ? 6 : column)
        continue
      }
      let lines = TextLayout.wrapped(entry.explanation, to: width - column)
      let space = String(repeating: " ", count: column)
      text += TextLayout.padded("  " + entry.label, to: column)
      text += lines.joined(separator: "\n" + space) + "\n"
    }
  }
}
