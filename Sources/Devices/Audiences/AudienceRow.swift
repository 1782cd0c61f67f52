import Keyspace
import Model
import Rules
import Text

/// A follower as an import names one: user, profile, devices.
package struct AudienceRow: Sendable {
  package let user: String
  /// Fields of the profile's hash; `AudienceRow.problem` says which names and values are refused.
  package let profile: [(name: String, value: String)]
  package let bindings: [Binding]
  /// When the devices were bound, ms since 1970.
  package let boundAt: Int64
  /// That time was given: a device that another user has bound since stays that user's.
  package let isBelated: Bool

  package init(
    user: String, profile: [(name: String, value: String)], bindings: [Binding], boundAt: Int64,
    isBelated: Bool = false
  ) {
    self.isBelated = isBelated
    self.user = user
    self.profile = profile
    self.bindings = bindings
    self.boundAt = boundAt
  }

  package static let maximumFieldNameBytes = 64
  package static let maximumFieldValueBytes = 1_024
  package static let maximumFields = 32
  package static let maximumBindings = 1_000

  /// Why the row cannot be written; nil when it can.
  package var problem: String? {
    guard Keyspace.isIdentifier(user) else { return Self.identifierProblem("user") }
    guard bindings.count <= Self.maximumBindings else {
      return "has \(bindings.count) devices, at most \(Self.maximumBindings) are taken"
    }
    return Self.problem(profile: profile)
  }

  static func problem(profile: [(name: String, value: String)]) -> String? {
    guard profile.count <= maximumFields else {
      return "has \(profile.count) profile fields, at most \(maximumFields) are taken"
    }
    for (name, value) in profile {
      guard !name.isEmpty, name.utf8.count <= maximumFieldNameBytes,
        name.utf8.allSatisfy({ $0.isSafeInKey && $0 != 0x7C })
      else {
        return "has a profile field whose name is not 1…\(maximumFieldNameBytes) printable ASCII "
          + "characters without blanks, braces and bars"
      }
      let maximum =
        name == RuleField.mutedStreamers.rawValue
        ? RecipientJudge.maximumListBytes : maximumFieldValueBytes
      guard value.utf8.count <= maximum else {
        return "has a profile field \(ShortText.of(name)) of over \(maximum) bytes"
      }
    }
    return nil
  }

  static func tooManyDevices(of user: String, _ count: Int) -> String {
    "\(user) would have \(count) devices, at most \(maximumBindings) are taken: unbind those that "
      + "are gone"
  }

  static func tooManyFields(of user: String, _ count: Int) -> String {
    "the profile of \(user) would have \(count) fields, at most \(maximumFields) are taken: take "
      + "out those that nothing reads"
  }

  static func identifierProblem(_ what: String) -> String {
    "\(what) must be \(Given.identifierRule)"
  }
}
