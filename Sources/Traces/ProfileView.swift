import Devices
import Model
import Rules

/// What a profile says to the rules of this process at one moment, and what of it says nothing.
struct ProfileView {
  private(set) var suppressedBy: SuppressionRule?
  /// In words for people; without values.
  private(set) var problems: [String] = []

  /// A longer value counts as not set.
  private static let maximumFieldBytes = 4_096

  init(_ profile: UserProfile, _ rules: RecipientRules, streamer: String, now: Int64) {
    var bytes: [UInt8] = []
    var ranges: [(field: RuleField, range: Range<Int>)] = []
    for field in rules.fields {
      let value = Array((profile[field.rawValue] ?? "").utf8)
      ranges.append((field, bytes.count..<bytes.count + value.count))
      bytes += value
    }
    let judge = RecipientJudge(rules, streamer: Array(streamer.utf8), now: now)
    bytes.withUnsafeBytes { bytes in
      var values = RuleValues()
      for (field, range) in ranges {
        values[field] = UnsafeRawBufferPointer(rebasing: bytes[range])
      }
      let verdict = judge.verdict(on: values)
      suppressedBy = verdict.suppressedBy
      if values.mutedStreamers.count > RecipientJudge.maximumListBytes {
        problems.append(
          "muted_streamers is over \(RecipientJudge.maximumListBytes) bytes: its end counts as "
            + "not set")
      }
      if !values.quiet.isEmpty, QuietHours(values.quiet) == nil {
        problems.append("quiet is not written like 22:00-07:00: it counts as not set")
      }
    }
    let zone = profile[RuleField.timeZone.rawValue] ?? ""
    if rules.fields.contains(.timeZone), !zone.isEmpty, !ZoneNames.understands(zone) {
      problems.append("tz is no zone that is known: rules.default_time_zone is taken")
    }
    let locale = profile[ProfilePatch.locale] ?? ""
    if !locale.isEmpty, LocaleTag(locale)?.isOfKnownLanguage != true {
      problems.append("locale is no language that is known: the template's default_locale is taken")
    }
    let own = Set(RuleField.allCases.map(\.rawValue))
    for field in profile.members where field.value.utf8.count > Self.maximumFieldBytes {
      guard !own.contains(field.name) else { continue }
      problems.append(
        "\(field.name) is over \(Self.maximumFieldBytes) bytes: it counts as not set")
    }
  }
}
