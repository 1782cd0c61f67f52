/// What a look at the files that prove to Apple who we are has shown, if it is news.
package enum CredentialChange: Sendable, Equatable {
  /// It is used from now on. What it is, in words.
  case replaced(String)
  /// The files cannot be used, and what was used before is used on. Why, in words.
  case refused(String)
  /// They will end within a month; said once a day.
  case expires(String)
  /// They have ended; said once a day.
  case expired(String)
}
