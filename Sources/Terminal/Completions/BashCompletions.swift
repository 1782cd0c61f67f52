/// A script for bash 3.2 and later: walks the words before the cursor to find the verb, then
/// offers what its level takes. Names are lower-case letters, digits and dashes
/// (`Program.validate`), so they need no quoting.
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
      let spellings = program.visibleOptions(at: chain).filter(\.takesValue).flatMap(Self.spellings)
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
        let patterns = Self.spellings(option).map { "\"\(path(chain)) \($0)\"" }
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

  private static func spellings(_ option: OptionDeclaration) -> [String] {
    ["--\(option.name)"] + (option.short.map { ["-\($0)"] } ?? [])
  }
}
