import Model
import Testing

@testable import Devices

@Suite struct SyntheticAudienceTests {
  private let audience = SyntheticAudience(
    followers: 50_000, seed: 7, topic: "com.example.live", deadTokenPrefix: "dead0410")

  @Test func theSameIndexIsTheSamePersonAndAnotherSeedIsAnother() {
    let same = SyntheticAudience(
      followers: 10, seed: 7, topic: "com.example.live", deadTokenPrefix: "dead0410")
    let other = SyntheticAudience(followers: 10, seed: 8, topic: "com.example.live")
    for index in 0..<10 {
      #expect(audience.row(index).bindings == same.row(index).bindings)
      #expect(audience.row(index).profile.map(\.value) == same.row(index).profile.map(\.value))
      #expect(audience.token(index, device: 0) != other.token(index, device: 0))
    }
    #expect(audience.row(3).user == "u3")
  }

  @Test func sharesAreAsPromised() {
    let totals = audience.totals()
    #expect(totals.followers == 50_000)
    #expect(abs(totals.devices - 60_000) < 600)
    #expect(abs(totals.withoutDevices - 2_000) < 200)
    #expect(abs(totals.mutedPeople - 500) < 100)
    #expect(abs(totals.deadDevices - 1_200) < 150)
  }

  @Test func totalsAreWhatTheRowsSay() {
    var totals = SyntheticAudience.Totals()
    var locales: [String: Int] = [:]
    var nameless = 0
    for index in 0..<50_000 {
      let row = audience.row(index)
      #expect(row.problem == nil)
      let fields = Dictionary(uniqueKeysWithValues: row.profile.map { ($0.name, $0.value) })
      totals.followers += 1
      totals.devices += row.bindings.count
      if row.bindings.isEmpty { totals.withoutDevices += 1 }
      if fields["muted"] == "1" {
        totals.mutedPeople += 1
        totals.mutedDevices += row.bindings.count
        #expect(audience.addressedTokens(index).isEmpty)
      } else {
        totals.deadDevices += row.bindings.count { $0.token.hasPrefix("dead0410") }
        #expect(audience.addressedTokens(index) == row.bindings.map(\.token))
      }
      locales[fields["locale"] ?? "", default: 0] += 1
      if fields["name"] == nil { nameless += 1 }
    }
    #expect(totals == audience.totals())
    #expect(nameless > 1_000 && nameless < 3_000)
    for locale in ["en", "en-GB", "zh-Hans", "zh-Hant-TW", "ja", "ko", "es", "pt-BR", "ar"] {
      #expect((locales[locale] ?? 0) > 1_000, "\(locale)")
    }
  }

  @Test func tokensAreDistinctHexOf64Digits() {
    var seen: Set<String> = []
    for index in 0..<20_000 {
      for device in 0..<3 {
        let token = audience.token(index, device: device)
        let isHex = token.utf8.allSatisfy { 0x30...0x39 ~= $0 || 0x61...0x66 ~= $0 }
        if token.utf8.count != 64 || !isHex { Issue.record("\(index), \(device): \(token)") }
        seen.insert(token)
      }
    }
    #expect(seen.count == 60_000)
  }
}
