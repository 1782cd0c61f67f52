/// Text from outside as answers, reports and logs quote it: what may be a device token in the wrong
/// place is cut, as `Binding.shortToken` is.
package enum ShortText {
  /// No name of ours is longer; no device token is so short.
  private static let maximum = 24
  private static let shown = 8

  package static func of(_ text: String) -> String {
    text.utf8.count <= maximum ? text : "\(text.prefix(shown))…"
  }
}
