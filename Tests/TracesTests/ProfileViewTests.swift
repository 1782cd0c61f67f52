import Devices
import Rules
import Testing

@testable import Traces

/// What is told of a profile that says nothing to a worker.
@Suite struct ProfileViewTests {
  private func problems(_ fields: [String: String]) -> [String] {
    let rules = RecipientRules(timeZones: TimeZones(["Asia/Tokyo": .fixed(secondsEast: 32_400)]))
    var profile = UserProfile()
    for (name, value) in fields { profile[name] = value }
    return ProfileView(profile, rules, streamer: "s1", now: 0).problems
  }

  @Test func whatIsUnderstoodIsNoProblem() {
    #expect(problems([:]).isEmpty)
    #expect(problems(["tz": "Asia/Tokyo", "locale": "ja-JP", "quiet": "22:00-07:00"]).isEmpty)
    #expect(problems(["tz": "UTC+09:00", "locale": "fil"]).isEmpty)
  }

  @Test(arguments: [
    ("tz", "JST", "rules.default_time_zone"), ("locale", "jp", "default_locale"),
    ("locale", "japanese", "default_locale"), ("quiet", "22-7", "counts as not set"),
  ])
  func whatIsNotUnderstoodIsTold(name: String, value: String, words: String) {
    let found = problems([name: value])
    #expect(found.count == 1, "\(found)")
    #expect(found.first?.hasPrefix("\(name) is ") == true, "\(found)")
    #expect(found.first?.contains(words) == true, "\(found)")
  }
}
