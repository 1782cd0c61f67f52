/// A text that no description, dump or mirror shows.
package struct Secret: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  /// The secret itself: hand it to who needs it, never to a message.
  package let exposed: String

  package init(_ text: String) { exposed = text }

  package var description: String { "(redacted)" }
  package var debugDescription: String { description }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
