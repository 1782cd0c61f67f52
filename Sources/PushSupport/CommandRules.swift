import Assembly
import Rules
import Settings
import Terminal
import VerbSupport

/// Whom an event may reach, for verbs that show it.
package enum CommandRules {
  package static func read(_ settings: Settings) throws(CommandFailure) -> RecipientRules {
    do {
      return try Assembly.rules(settings)
    } catch {
      throw CommandFailure(error)
    }
  }
}
