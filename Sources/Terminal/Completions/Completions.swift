package enum Shell: String, Sendable, CaseIterable {
  case bash, zsh, fish
}

extension Program {
  /// A script for the shell that completes verbs, options, choices and files.
  package func completions(for shell: Shell) -> String {
    switch shell {
    case .bash: BashCompletions(program: self).script
    case .zsh: ZshCompletions(program: self).script
    case .fish: FishCompletions(program: self).script
    }
  }

  /// Every level of the visible command line, the program itself first.
  var levels: [[Verb]] {
    func below(_ chain: [Verb]) -> [[Verb]] {
      let inner = (chain.last?.verbs ?? verbs).filter { !$0.isHidden }
      return [chain] + inner.flatMap { below(chain + [$0]) }
    }
    return below([])
  }

  func visibleOptions(at chain: [Verb]) -> [OptionDeclaration] {
    options(at: chain).filter { !$0.isHidden }
  }

  func visibleVerbs(at chain: [Verb]) -> [Verb] {
    (chain.last?.verbs ?? verbs).filter { !$0.isHidden }
  }
}

extension Verb {
  private static let shell = Argument(
    required: "shell", ValueParser<Shell>.choice(), help: "The shell that the script is for")

  /// `completions bash|zsh|fish`, ready for a program's verbs.
  package static func completions(program: String) -> Verb {
    Verb(
      "completions", summary: "Print a completion script for bash, zsh or fish",
      arguments: [shell],
      examples: [
        Example("source <(\(program) completions bash)", "Load completions in this shell"),
        Example(
          "\(program) completions zsh > \"${fpath[1]}/_\(program)\"",
          "Install completions for zsh"),
        Example(
          "\(program) completions fish > ~/.config/fish/completions/\(program).fish",
          "Install completions for fish"),
      ], exitCodes: [.ok]
    ) { invocation in
      invocation.output.write(invocation.program.completions(for: invocation[shell]))
      return .ok
    }
  }
}

extension OptionDeclaration {
  fileprivate var spellings: [String] { ["--\(name)"] + (short.map { ["-\($0)"] } ?? []) }
}

/// Names for shell functions: letters, digits and underscores.
func shellIdentifier(_ words: [String]) -> String {
  "_" + words.map { String($0.map { $0 == "-" ? "_" : $0 }) }.joined(separator: "_")
}

/// A script for fish: one `complete` line per word, each under the condition that the verbs before
/// the cursor are those of its level.
struct FishCompletions {
  let program: Program

  private var condition: String { "_" + shellIdentifier([program.name]) + "_at" }

  var script: String {
    """
    # fish completion for \(program.name)
    # True when the verbs typed so far are exactly those given.
    function \(condition)
      set -l path
      set -l skip 0
      for word in (commandline -opc)[2..-1]
        if test $skip -eq 1
          set skip 0
          continue
        end
        switch "$path $word"
    \(steps)
        end
      end
      test "$path" = "$argv"
    end
    complete -c \(program.name) -f
    \(program.levels.flatMap(lines).joined(separator: "\n"))

    """
  }

  private func path(_ chain: [Verb]) -> String { chain.map(\.name).joined(separator: " ") }

  private var steps: String {
    var lines: [String] = []
    for chain in program.levels {
      for verb in program.visibleVerbs(at: chain) {
        lines.append("      case \(Self.quoted("\(path(chain)) \(verb.name)"))")
        lines.append("        set -a path \(verb.name)")
      }
      let spellings = program.visibleOptions(at: chain).filter(\.takesValue).flatMap(\.spellings)
      guard !spellings.isEmpty else { continue }
      let patterns = spellings.map { Self.quoted("\(path(chain)) \($0)") }
      lines.append("      case \(patterns.joined(separator: " "))")
      lines.append("        set skip 1")
    }
    return lines.joined(separator: "\n")
  }

  private func lines(_ chain: [Verb]) -> [String] {
    let names = chain.map(\.name).joined(separator: " ")
    let start = "complete -c \(program.name) -n \(Self.quoted("\(condition) \(names)"))"
    var lines = program.visibleVerbs(at: chain).map {
      "\(start) -a \($0.name) -d \(Self.quoted($0.summary))"
    }
    for option in program.visibleOptions(at: chain) {
      let short = option.short.map { " -s \($0)" } ?? ""
      let value = option.takesValue ? " -x" + Self.values(option.kind) : ""
      lines.append("\(start) -l \(option.name)\(short)\(value) -d \(Self.quoted(option.help))")
    }
    for argument in chain.last?.arguments ?? [] {
      switch argument.kind {
      case .choice(let choices):
        lines.append("\(start) -a \(Self.quoted(choices.joined(separator: " ")))")
      case .path: lines.append("\(start) -F")
      default: break
      }
    }
    return lines
  }

  private static func values(_ kind: ValueKind) -> String {
    switch kind {
    case .choice(let names): " -a \(quoted(names.joined(separator: " ")))"
    case .path: " -a '(__fish_complete_path)'"
    default: ""
    }
  }

  private static func quoted(_ text: String) -> String {
    var result = "'"
    for character in TextLayout.printable(text) {
      if character == "'" || character == "\\" { result.append("\\") }
      result.append(character)
    }
    return result + "'"
  }
}

/// A script for zsh's completion system: one function per level, each a call of `_arguments`.
struct ZshCompletions {
  let program: Program

  var script: String {
    let root = shellIdentifier([program.name])
    return "#compdef \(program.name)\n" + program.levels.map(function).joined()
      + """

      if [[ ${funcstack[1]} == \(root) ]]; then
        \(root) "$@"
      else
        compdef \(root) \(program.name)
      fi

      """
  }

  private func function(_ chain: [Verb]) -> String {
    let name = shellIdentifier([program.name] + chain.map(\.name))
    var specifications = program.visibleOptions(at: chain).map(Self.specification)
    let verbs = program.visibleVerbs(at: chain)
    guard !verbs.isEmpty else {
      specifications += (chain.last?.arguments ?? []).map(Self.specification)
      return "\n\(name)() {\n  _arguments -s -S \(Self.lines(specifications))\n}\n"
    }
    specifications += ["'1:verb:->verb'", "'*:: :->rest'"]
    let list = verbs.map { "        \(Self.quoted("\(Self.escaped($0.name)):\($0.summary)"))" }
    let cases = verbs.map {
      "        \($0.name)) \(shellIdentifier([program.name] + chain.map(\.name) + [$0.name])) ;;"
    }
    return """

      \(name)() {
        local state line
        local -a verbs
        typeset -A opt_args
        _arguments -s -S -C \(Self.lines(specifications))
        case $state in
          verb)
            verbs=(
      \(list.joined(separator: "\n"))
            )
            _describe verb verbs ;;
          rest)
            case ${words[1]} in
      \(cases.joined(separator: "\n"))
            esac ;;
        esac
      }

      """
  }

  private static func lines(_ specifications: [String]) -> String {
    specifications.map { "\\\n    \($0)" }.joined(separator: " ")
  }

  private static func specification(_ option: OptionDeclaration) -> String {
    let help = "[\(escaped(option.help))]"
    let action = option.takesValue ? ":\(escaped(option.valueName)):\(action(option.kind))" : ""
    let long = "--\(option.name)" + (option.takesValue ? "=" : "")
    guard let short = option.short else {
      let again = option.isRepeatable ? "*" : ""
      return quoted(again + long + help + action)
    }
    let shortForm = "-\(short)" + (option.takesValue ? "+" : "")
    let excluded = option.isRepeatable ? "'*'" : "'(-\(short) --\(option.name))'"
    return "\(excluded){\(shortForm),\(long)}\(quoted(help + action))"
  }

  private static func specification(_ argument: ArgumentDeclaration) -> String {
    let start = argument.takesRest ? "*:" : argument.isRequired ? ":" : "::"
    return quoted("\(start)\(escaped(argument.name)):\(action(argument.kind))")
  }

  private static func action(_ kind: ValueKind) -> String {
    switch kind {
    case .choice(let names): "(\(names.joined(separator: " ")))"
    case .path: "_files"
    default: " "
    }
  }

  /// Brackets and colons separate the parts of a specification.
  private static func escaped(_ text: String) -> String {
    var result = ""
    for character in TextLayout.printable(text) {
      if "\\[]:".contains(character) { result.append("\\") }
      result.append(character)
    }
    return result
  }

  private static func quoted(_ text: String) -> String {
    "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''")
      + "'"
  }
}

/// A script for bash 3.2 and later: walks the words before the cursor to find the verb, then
/// offers what its level takes. Names are lower-case letters, digits and dashes
/// (a test checks this), so they need no quoting.
struct BashCompletions {
  let program: Program

  private func path(_ chain: [Verb]) -> String { chain.map { " " + $0.name }.joined() }

  var script: String {
    let function = shellIdentifier([program.name])
    return """
      # bash completion for \(program.name)
      \(function)() {
        local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"
        local path="" word index
        COMPREPLY=()
        if [[ $current == "=" ]]; then current=""; fi
        if [[ $previous == "=" && $COMP_CWORD -ge 2 ]]; then
          previous="${COMP_WORDS[COMP_CWORD-2]}"
        fi
        for ((index = 1; index < COMP_CWORD; index++)); do
          word="${COMP_WORDS[index]}"
          case "$path $word" in
      \(steps)
          esac
        done
        case "$path $previous" in
      \(values)
        esac
        case "$path" in
      \(offers)
        esac
      }
      complete -F \(function) \(program.name)

      """
  }

  /// Words that lead to another level, and options whose value is to be stepped over.
  private var steps: String {
    var lines: [String] = []
    for chain in program.levels {
      for verb in program.visibleVerbs(at: chain) {
        let next = path(chain + [verb])
        lines.append("      \"\(next)\") path=\"\(next)\" ;;")
      }
      let spellings = program.visibleOptions(at: chain).filter(\.takesValue).flatMap(\.spellings)
      if !spellings.isEmpty {
        let patterns = spellings.map { "\"\(path(chain)) \($0)\"" }.joined(separator: "|")
        lines.append("      \(patterns)) ((index++)) ;;")
      }
    }
    return lines.joined(separator: "\n")
  }

  private var values: String {
    var lines: [String] = []
    for chain in program.levels {
      for option in program.visibleOptions(at: chain) where option.takesValue {
        let patterns = option.spellings.map { "\"\(path(chain)) \($0)\"" }
        lines.append(
          "    \(patterns.joined(separator: "|"))) \(Self.reply(option.kind)) return ;;")
      }
    }
    return lines.joined(separator: "\n")
  }

  private var offers: String {
    program.levels.map { chain in
      let names = program.visibleVerbs(at: chain).map(\.name)
      let options = program.visibleOptions(at: chain).map { "--\($0.name)" }
      let arguments = chain.last?.arguments ?? []
      let choices = arguments.flatMap { argument -> [String] in
        if case .choice(let names) = argument.kind { names } else { [] }
      }
      let dashed = Self.words(options)
      let plain = Self.words(names + choices)
      let files =
        arguments.contains { $0.kind == .path }
        ? #" COMPREPLY+=($(compgen -f -- "$current"));"# : ""
      return """
            "\(path(chain))")
              if [[ $current == -* ]]; then \(dashed) else \(plain)\(files) fi ;;
        """
    }.joined(separator: "\n")
  }

  private static func reply(_ kind: ValueKind) -> String {
    switch kind {
    case .choice(let names): words(names)
    case .path: #"COMPREPLY=($(compgen -f -- "$current"));"#
    default: ""
    }
  }

  private static func words(_ words: [String]) -> String {
    #"COMPREPLY=($(compgen -W ""# + words.joined(separator: " ") + #"" -- "$current"));"#
  }
}
