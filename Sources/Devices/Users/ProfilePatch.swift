import Model
import Rules
import Text

/// Fields of a profile, by name.
package typealias UserProfile = NamedValues<String>

/// Changes to some fields of a profile; the others stay. Fields that Fanfare itself reads are
/// checked here, because a wrong value counts as not set and nobody hears of it.
package struct ProfilePatch: Sendable, Equatable {
  /// Nothing for a field that goes.
  let fields: UserProfile

  package var isEmpty: Bool { fields.members.isEmpty }

  /// Fields with a meaning of their own; templates may name any others.
  package static let locale = "locale"
  package static let name = "name"
  package static let badge = "badge"
  package static let muted = RuleField.muted.rawValue
  package static let mutedStreamers = RuleField.mutedStreamers.rawValue
  package static let quiet = RuleField.quiet.rawValue
  package static let timeZone = RuleField.timeZone.rawValue

  /// - Parameter changes: a field without a value, or with an empty one, is taken out.
  package init(_ changes: [(name: String, value: String?)]) throws(GivenRefusal) {
    // Before each is looked for among the others.
    guard changes.count <= AudienceRow.maximumFields else {
      throw GivenRefusal(
        name: "profile",
        rule: "at most \(AudienceRow.maximumFields) fields, not \(changes.count)")
    }
    // Before anybody looks for a meaning in it.
    let given = changes.map { (name: $0.name, value: $0.value ?? "") }
    if let problem = AudienceRow.problem(profile: given) {
      throw GivenRefusal(name: "profile", rule: "taken as it is, and \(problem)")
    }
    var fields = UserProfile()
    for (name, value) in changes {
      guard fields[name] == nil else {
        throw GivenRefusal(name: ShortText.of(name), rule: "given once")
      }
      fields[name] = try Self.checked(name, value ?? "")
    }
    self.fields = fields
  }

  /// The value of `mutedStreamers`: one id in each line, so no id may hold a line break.
  package static func text(ofMuted streamers: [String]) throws(GivenRefusal) -> String {
    for streamer in streamers { try Given.streamer(streamer, as: mutedStreamers) }
    return streamers.joined(separator: "\n")
  }

  /// Second names that people write for fields with a meaning, without `_` and `-`.
  private static let secondNames = [
    "timezone": timeZone, "language": locale, "lang": locale, "quiethours": quiet,
  ]

  /// A field with a meaning that is written otherwise: another case, or a second name. It would be
  /// stored, and nobody would look at it.
  private static func ownName(meantBy name: String) -> String? {
    let own = RuleField.allCases.map(\.rawValue) + [locale]
    guard !own.contains(name) else { return nil }
    func plain(_ name: String) -> String {
      String(
        decoding: name.utf8.filter { $0 != 0x5F && $0 != 0x2D }.map(\.asciiLowered),
        as: UTF8.self)
    }
    let given = plain(name)
    return secondNames[given] ?? own.first { plain($0) == given }
  }

  /// Nobody sees it.
  private static func blank(_ value: String) -> String? {
    let isBlank = { (byte: UInt8?) in byte.map { $0 <= 0x20 } == true }
    return isBlank(value.utf8.first) || isBlank(value.utf8.last)
      ? "; there is a blank or a line break at an end of it" : nil
  }

  /// The value as it is stored.
  private static func checked(
    _ name: String, _ value: String
  ) throws(GivenRefusal) -> String {
    // A field that was stored under a wrong name may go.
    guard !value.isEmpty else { return "" }
    if let own = ownName(meantBy: name) {
      throw GivenRefusal(name: ShortText.of(name), rule: "written \(own): no other name is read")
    }
    func refuse(
      _ rule: String, hint: @autoclosure @escaping @Sendable () -> String = ""
    ) -> GivenRefusal {
      GivenRefusal(name: name, rule: rule, hint: hint())
    }
    switch name {
    case locale:
      guard LocaleTag(value)?.isOfKnownLanguage == true else {
        throw refuse(
          "a language tag, such as ja or zh-Hant-TW", hint: blank(value) ?? LocaleTag.hint(value))
      }
    case badge:
      guard Int(value).map({ $0 >= 0 }) == true, value.utf8.allSatisfy(\.isASCIIDigit) else {
        throw refuse("a whole number from 0")
      }
    case muted:
      switch value {
      case "1", "true": return "1"
      case "0", "false": return "0"
      default: throw refuse("true or false")
      }
    case quiet:
      var text = value
      guard text.withUTF8({ QuietHours(UnsafeRawBufferPointer($0)) }) != nil else {
        throw refuse("hours of the day such as 22:00-07:00")
      }
    case timeZone:
      guard ZoneNames.understands(value) else {
        throw refuse(
          "an IANA name such as Europe/Berlin, or an offset such as UTC+03:00",
          hint: blank(value) ?? ZoneNames.hint(value))
      }
    case mutedStreamers:
      for streamer in value.split(separator: "\n", omittingEmptySubsequences: false) {
        try Given.streamer(String(streamer), as: name)
      }
    default: break
    }
    return value
  }
}
