import Model
import Subscriptions
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

  /// Apple's and Android's.
  private static func mixed(_ androidShare: Double, followers: Int = 20_000) -> SyntheticAudience {
    SyntheticAudience(
      followers: followers, seed: 7, topic: "com.example.live",
      devices: [
        SyntheticDevices(.production, share: 1 - androidShare, deadTokenPrefix: "dead0410"),
        SyntheticDevices(.fcm, share: androidShare, deadTokenPrefix: "fault:0:unregistered:"),
      ])
  }

  @Test(arguments: [0, 0.25, 0.5, 1])
  func devicesAreSharedAmongPlatforms(share: Double) {
    let audience = Self.mixed(share)
    let totals = audience.totals()
    let (all, android) = (totals.devices, totals.devicesByKind[1])
    #expect(totals.devicesByKind.reduce(0, +) == all && totals.devicesByKind.count == 2)
    #expect(abs(Double(android) - share * Double(all)) < 0.02 * Double(all))
    if share == 0 || share == 1 { #expect(Double(android) == share * Double(all)) }
    var counted = [0, 0]
    for index in 0..<audience.followers {
      let row = audience.row(index)
      #expect(row.problem == nil)
      for binding in row.bindings { counted[binding.destination == .fcm ? 1 : 0] += 1 }
    }
    #expect(counted == totals.devicesByKind)
  }

  /// Only what a device is of changes with the share.
  @Test func appleDevicesAreTheSameBesideAndroid() {
    let (apple, mixed) = (Self.mixed(0), Self.mixed(0.5))
    for index in 0..<2_000 {
      let (own, other) = (apple.row(index), mixed.row(index))
      #expect(own.bindings.count == other.bindings.count && own.boundAt == other.boundAt)
      let kept = other.bindings.filter { $0.destination == .production }.map(\.token)
      #expect(Set(kept).isSubset(of: Set(own.bindings.map(\.token))))
    }
  }

  /// A subscription is what its maker says of a number, and each number comes once.
  @Test func browsersHaveTheSubscriptionsOfTheirNumbers() throws {
    let point = Array(repeating: UInt8(4), count: 65)
    let audience = SyntheticAudience(
      followers: 5_000, seed: 7, topic: "com.example.live",
      devices: [
        SyntheticDevices(.production, share: 0.5, deadTokenPrefix: "dead0410"),
        SyntheticDevices(browsersOf: "new", share: 0.5) { number, isDead in
          let secret = (0..<16).map { UInt8(truncatingIfNeeded: number >> (8 * ($0 % 8))) }
          return ("https://push.test/\(isDead ? "dead" : "n")/\(number)", point, secret)
        },
      ])
    var seen: Set<String> = []
    var dead = 0
    for index in 0..<audience.followers {
      let row = audience.row(index)
      #expect(row.problem == nil)
      for (device, binding) in row.bindings.enumerated() where binding.destination == .webpush {
        #expect(binding.token == audience.token(index, device: device))
        let isDead = audience.isDead(index, device: device)
        if isDead { dead += 1 }
        let number = try #require(binding.token.split(separator: "/").last)
        #expect(binding.token == "https://push.test/\(isDead ? "dead" : "n")/\(number)")
        let text = Array(binding.keys.utf8)
        let keys = UnsafeMutableRawBufferPointer.allocate(byteCount: 81, alignment: 1)
        defer { keys.deallocate() }
        let start = try #require(keys.baseAddress)
        let keyID = text.withUnsafeBytes { text in
          SubscriptionKeys.read(text, to: start).map { Array($0) }
        }
        #expect(keyID == Array("new".utf8))
        #expect(keys[..<65].elementsEqual(point) && keys[65] == UInt8((Int(number) ?? -1) & 0xFF))
        seen.insert(String(number))
      }
    }
    #expect(seen.count == audience.totals().devicesByKind[1])
    #expect(dead > seen.count / 100 && dead < seen.count / 25)
  }

  @Test func tokensOfFirebaseAreDistinctAndOfItsForm() {
    let audience = Self.mixed(1)
    var seen: Set<String> = []
    var dead = 0
    for index in 0..<audience.followers {
      for device in 0..<3 {
        let token = audience.token(index, device: device)
        let isDead = audience.isDead(index, device: device)
        let living = isDead ? token.dropFirst("fault:0:unregistered:".count) : token[...]
        let isOfForm =
          living.utf8.count == 163 && living.utf8.dropFirst(22).starts(with: ":APA91b".utf8)
        if token.hasPrefix("fault:0:unregistered:") != isDead || !isOfForm {
          Issue.record("\(index), \(device): \(token)")
        }
        if isDead { dead += 1 }
        seen.insert(token)
      }
    }
    #expect(seen.count == 60_000)
    #expect(abs(dead - 1_200) < 150)
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
      totals.devicesByKind = [totals.devices]
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
