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
      let spellings = program.visibleOptions(at: chain).filter(\.takesValue).flatMap { option in
        ["--\(option.name)"] + (option.short.map { ["-\($0)"] } ?? [])
      }
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
