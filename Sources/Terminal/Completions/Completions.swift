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
    required: "shell", ValueParser<Shell>.choice(), help: "The shell to write the script for")

  /// `completions bash|zsh|fish`, ready for a program's verbs.
  package static func completions(program: String) -> Verb {
    Verb(
      "completions", summary: "Print a completion script for bash, zsh or fish",
      arguments: [shell],
      examples: [
        Example("source <(\(program) completions bash)", "Complete in this shell"),
        Example(
          "\(program) completions zsh > \"${fpath[1]}/_\(program)\"", "Complete in every zsh"),
        Example(
          "\(program) completions fish > ~/.config/fish/completions/\(program).fish",
          "Complete in every fish"),
      ], exitCodes: [.ok]
    ) { invocation in
      invocation.output.write(invocation.program.completions(for: invocation[shell]))
      return .ok
    }
  }
}

/// Names for shell functions: letters, digits and underscores.
func shellIdentifier(_ words: [String]) -> String {
  "_" + words.map { String($0.map { $0 == "-" ? "_" : $0 }) }.joined(separator: "_")
}
