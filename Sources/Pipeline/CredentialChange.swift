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

  /// The same, with whose they are, where there are others.
  package func of(_ name: String?) -> CredentialChange {
    guard let name else { return self }
    return switch self {
    case .replaced(let what): .replaced("\(name): \(what)")
    case .refused(let why): .refused("\(name): \(why)")
    case .expires(let what): .expires("\(name): \(what)")
    case .expired(let what): .expired("\(name): \(what)")
    }
  }
}
