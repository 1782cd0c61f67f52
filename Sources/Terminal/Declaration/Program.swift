/// The whole command line, declared once; the parser, help, suggestions and completions are read
/// off it.
package struct Program: Sendable {
  package let name: String
  package let summary: String
  package let version: String
  /// Taken by every verb.
  package let options: [OptionDeclaration]
  package let verbs: [Verb]
  package let examples: [Verb.Example]
  /// Last words of the program's help: where the documentation is.
  package let epilogue: String

  package init(
    name: String, summary: String, version: String, options: [any DeclaredOption] = [],
    verbs: [Verb], examples: [Verb.Example] = [], epilogue: String = ""
  ) {
    self.name = name
    self.summary = summary
    self.version = version
    self.options = options.map(\.declaration)
    self.verbs = verbs
    self.examples = examples
    self.epilogue = epilogue
  }

  /// The verbs along a path, outermost first; nil when there is no such path.
  package func chain(_ path: [String]) -> [Verb]? {
    var found: [Verb] = []
    for name in path {
      guard let verb = (found.last?.verbs ?? verbs).first(where: { $0.name == name }) else {
        return nil
      }
      found.append(verb)
    }
    return found
  }

  /// The options of every level that need no declaration.
  static let builtIn: [OptionDeclaration] = [
    Option(flag: "help", short: "h", help: "Show this help").declaration
  ]
  static let versionOption =
    Option(flag: "version", help: "Show the version").declaration

  /// All options that can be given at the end of a path, the verb's own first.
  package func options(at chain: [Verb]) -> [OptionDeclaration] {
    chain.reversed().flatMap(\.options) + options + Self.builtIn
      + (chain.isEmpty ? [Self.versionOption] : [])
  }
}
