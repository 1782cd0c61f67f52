/// A complaint about one value, without its place.
package struct SettingComplaint: Error, Sendable, Equatable {
  package let message: String
  package let hint: String?

  package init(_ message: String, hint: String? = nil) {
    self.message = message
    self.hint = hint
  }
}
