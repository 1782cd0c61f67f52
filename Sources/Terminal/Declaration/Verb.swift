/// One thing that the program does, or a group of such (`audience import|seed|shard`).
package struct Verb: Sendable {
  /// Does the verb's work; what it throws is told on standard error.
  package typealias Handler = @Sendable (Invocation) async throws(CommandFailure) -> ExitCode

  package struct Example: Sendable {
    package let command: String
    package let meaning: String
    /// `command` is shown as it is, program name included, so that it can be pasted.
    package init(_ command: String, _ meaning: String) {
      self.command = command
      self.meaning = meaning
    }
  }

  package let name: String
  /// Half a line for the list of verbs, without full stop.
  package let summary: String
  /// Paragraphs for the verb's own help, separated by empty lines.
  package let discussion: String
  package let options: [OptionDeclaration]
  package let arguments: [ArgumentDeclaration]
  package let verbs: [Verb]
  package let examples: [Example]
  /// The codes that this verb may end with; `usage` is understood.
  package let exitCodes: [ExitCode]
  /// Works, but stands neither in help nor in completions nor in suggestions.
  package let isHidden: Bool
  package let handler: Handler?

  /// A verb that does something.
  package init(
    _ name: String, summary: String, discussion: String = "",
    options: [any DeclaredOption] = [], arguments: [any DeclaredArgument] = [],
    examples: [Example] = [], exitCodes: [ExitCode] = [.ok, .failed], isHidden: Bool = false,
    handler: @escaping Handler
  ) {
    self.name = name
    self.summary = summary
    self.discussion = discussion
    self.options = options.map(\.declaration)
    self.arguments = arguments.map(\.declaration)
    verbs = []
    self.examples = examples
    self.exitCodes = exitCodes
    self.isHidden = isHidden
    self.handler = handler
  }

  /// A group: does nothing by itself. Its options are taken by every verb in it.
  package init(
    group name: String, summary: String, discussion: String = "",
    options: [any DeclaredOption] = [], verbs: [Verb], examples: [Example] = [],
    isHidden: Bool = false
  ) {
    self.name = name
    self.summary = summary
    self.discussion = discussion
    self.options = options.map(\.declaration)
    arguments = []
    self.verbs = verbs
    self.examples = examples
    exitCodes = []
    self.isHidden = isHidden
    handler = nil
  }

  var isGroup: Bool { handler == nil }
}
