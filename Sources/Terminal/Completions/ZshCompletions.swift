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
