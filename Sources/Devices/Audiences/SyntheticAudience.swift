import Keyspace
import Model
import Text

/// Followers made from a seed: the same index gives the same person on every machine, so a demo or
/// a bench knows whom it should have reached without storing anything. Not for production data.
///
/// About 1.2 devices a person: 4 % have none, 76 % one, 16 % two, 4 % three. Eight languages with
/// their regions. 3 % have no name, 0.5 % no profile at all, 20 % a badge.
package struct SyntheticAudience: Sendable {
  package let followers: Int
  package let seed: UInt64
  package let topic: String
  /// The kinds of devices; a device is of one of them.
  package let devices: [SyntheticDevices]
  /// Share of devices that are dead, 0…1, among kinds that can be.
  package let deadShare: Double
  /// Share of people who muted the streamer, 0…1.
  package let mutedShare: Double
  /// The latest time of a binding, ms since 1970; the others are up to 90 days older.
  package let boundAt: Int64
  /// The text before the index in a user id.
  package let userPrefix: String

  /// - Parameter devices: at least one kind.
  package init(
    followers: Int, seed: UInt64, topic: String, devices: [SyntheticDevices],
    deadShare: Double = 0.02, mutedShare: Double = 0.01, boundAt: Int64 = Self.usualTime,
    userPrefix: String = "u"
  ) {
    self.followers = max(0, followers)
    self.seed = seed
    self.topic = topic
    self.devices = devices
    self.deadShare = deadShare
    self.mutedShare = mutedShare
    self.boundAt = boundAt
    self.userPrefix = userPrefix
  }

  /// With devices of one environment of Apple's alone.
  package init(
    followers: Int, seed: UInt64, topic: String, environment: Destination = .production,
    deadTokenPrefix: String = "", deadShare: Double = 0.02, mutedShare: Double = 0.01,
    boundAt: Int64 = Self.usualTime, userPrefix: String = "u"
  ) {
    self.init(
      followers: followers, seed: seed, topic: topic,
      devices: [SyntheticDevices(environment, deadTokenPrefix: deadTokenPrefix)],
      deadShare: deadShare, mutedShare: mutedShare, boundAt: boundAt, userPrefix: userPrefix)
  }

  /// A person has fewer.
  private static let mostDevices = 4

  /// The start of 2026.
  package static let usualTime: Int64 = 1_767_225_600_000

  package struct Person: Sendable, Equatable {
    package var index: Int
    package var deviceCount: Int
    package var isMuted: Bool
    fileprivate var bits: UInt64
  }

  /// Returns what is known of a follower without making a string.
  package func person(_ index: Int) -> Person {
    let bits = SplitMix64.mix(seed ^ SplitMix64.mix(UInt64(truncatingIfNeeded: index) &+ 0x5EED))
    let deviceCount =
      switch bits % 100 {
      case 0..<4: 0
      case 4..<80: 1
      case 80..<96: 2
      default: 3
      }
    let isMuted = Self.share(SplitMix64.mix(bits ^ 0xA1), mutedShare) && !isBare(bits)
    return Person(index: index, deviceCount: deviceCount, isMuted: isMuted, bits: bits)
  }

  package func user(_ index: Int) -> String { "\(userPrefix)\(index)" }

  /// The row that an import would hold for this follower.
  package func row(_ index: Int) -> AudienceRow {
    let person = person(index)
    let bindings = (0..<person.deviceCount).compactMap { device in
      let made = made(index, device)
      return Binding(
        destination: devices[kind(index, device: device)].destination, topic: topic,
        keys: made.keys, token: made.token)
    }
    return AudienceRow(
      user: user(index), profile: profile(of: person), bindings: bindings,
      boundAt: boundAt - Int64(SplitMix64.mix(person.bits ^ 0xB0) % 7_776_000_000))
  }

  /// The tokens of the devices that get a push: none when the person is muted.
  package func addressedTokens(_ index: Int) -> [String] {
    let person = person(index)
    return person.isMuted ? [] : (0..<person.deviceCount).map { token(index, device: $0) }
  }

  /// Which of `devices` a device is of.
  package func kind(_ index: Int, device: Int) -> Int {
    guard devices.count > 1 else { return 0 }
    var draw =
      Double(SplitMix64.mix(deviceSeed(index, device) ^ 0xD0) >> 11) / Double(1 << 53)
    for kind in devices.indices.dropLast() {
      if draw < devices[kind].share { return kind }
      draw -= devices[kind].share
    }
    return devices.count - 1
  }

  package func isDead(_ index: Int, device: Int) -> Bool {
    devices[kind(index, device: device)].canBeDead
      && Self.share(SplitMix64.mix(deviceSeed(index, device) ^ 0xDEAD), deadShare)
  }

  /// In the form of its kind, distinct for distinct (index, device): it holds a one-to-one mixture
  /// of both.
  package func token(_ index: Int, device: Int) -> String { made(index, device).token }

  private func made(_ index: Int, _ device: Int) -> (token: String, keys: String) {
    devices[kind(index, device: device)].device(
      index * Self.mostDevices + device, deviceSeed(index, device),
      isDead: isDead(index, device: device))
  }

  package struct Totals: Sendable, Equatable {
    package var followers = 0
    package var withoutDevices = 0
    package var devices = 0
    /// By their kind, in the order of `SyntheticAudience.devices`.
    package var devicesByKind: [Int] = []
    /// Devices of people who are muted: suppressed, not sent.
    package var mutedDevices = 0
    /// Devices among those addressed that are dead.
    package var deadDevices = 0
    package var mutedPeople = 0
  }

  /// Counts over the whole audience: what a fan-out must report.
  package func totals() -> Totals {
    var totals = Totals()
    totals.followers = followers
    totals.devicesByKind = devices.map { _ in 0 }
    for index in 0..<followers {
      let person = person(index)
      for device in 0..<person.deviceCount {
        totals.devicesByKind[kind(index, device: device)] += 1
      }
      totals.devices += person.deviceCount
      if person.deviceCount == 0 { totals.withoutDevices += 1 }
      if person.isMuted {
        totals.mutedPeople += 1
        totals.mutedDevices += person.deviceCount
      } else {
        for device in 0..<person.deviceCount where isDead(index, device: device) {
          totals.deadDevices += 1
        }
      }
    }
    return totals
  }

  private func profile(of person: Person) -> [(name: String, value: String)] {
    let bits = person.bits
    if isBare(bits) { return [] }
    let locale = SyntheticNames.locales[
      Int(SplitMix64.mix(bits ^ 0x10) % UInt64(SyntheticNames.locales.count))]
    var profile = [(name: "locale", value: locale.tag), (name: "tz", value: locale.timeZone)]
    if !Self.share(SplitMix64.mix(bits ^ 0x11), 0.03) {
      let name = locale.names[Int(SplitMix64.mix(bits ^ 0x12) % UInt64(locale.names.count))]
      profile.append((name: "name", value: name))
    }
    if Self.share(SplitMix64.mix(bits ^ 0x13), 0.2) {
      profile.append((name: "badge", value: String(1 + SplitMix64.mix(bits ^ 0x14) % 20)))
    }
    if person.isMuted { profile.append((name: "muted", value: "1")) }
    return profile
  }

  private func isBare(_ bits: UInt64) -> Bool { Self.share(SplitMix64.mix(bits ^ 0xBA), 0.005) }

  private func deviceSeed(_ index: Int, _ device: Int) -> UInt64 {
    let number = UInt64(truncatingIfNeeded: index) &* UInt64(Self.mostDevices) &+ UInt64(device)
    return SplitMix64.mix(SplitMix64.mix(seed) &+ number)
  }

  private static func share(_ bits: UInt64, _ share: Double) -> Bool {
    Double(bits >> 11) < share * Double(1 << 53)
  }
}

extension SyntheticAudience {
  /// Returns the first wrong value, by the name of its option: `app`, `dead-prefix`,
  /// `android-dead-prefix` or `user-prefix`; nil: all are right.
  package static func problem(
    topic: String, deadTokenPrefix: String, androidDeadPrefix: String = "", userPrefix: String
  ) -> (name: String, message: String)? {
    if !Binding.isTopic(topic) {
      return ("app", "is a bundle id: letters, digits, '.' and '-'")
    }
    if deadTokenPrefix.utf8.count > 32 || !deadTokenPrefix.utf8.allSatisfy(\.isASCIIHexDigit) {
      return ("dead-prefix", "is at most 32 hex digits")
    }
    if androidDeadPrefix.utf8.count > 64 || !androidDeadPrefix.utf8.allSatisfy(\.isSafeInKey) {
      return ("android-dead-prefix", "is at most 64 visible ASCII characters without braces")
    }
    if userPrefix.utf8.count > 64 || !Keyspace.isIdentifier(userPrefix + "0") {
      return ("user-prefix", "is at most 64 bytes without control characters and braces")
    }
    return nil
  }
}

/// Given names in the script of each language; the regions exercise BCP 47 fallback.
enum SyntheticNames {
  struct Locale: Sendable {
    let tag: String
    let timeZone: String
    let names: [String]
  }

  static let locales: [Locale] = [
    Locale(tag: "en", timeZone: "America/New_York", names: english),
    Locale(tag: "en-US", timeZone: "America/Los_Angeles", names: english),
    Locale(tag: "en-GB", timeZone: "Europe/London", names: english),
    Locale(tag: "en-AU", timeZone: "Australia/Sydney", names: english),
    Locale(tag: "zh-Hans", timeZone: "Asia/Shanghai", names: simplifiedChinese),
    Locale(tag: "zh-Hans-CN", timeZone: "Asia/Shanghai", names: simplifiedChinese),
    Locale(tag: "zh-Hant", timeZone: "Asia/Taipei", names: traditionalChinese),
    Locale(tag: "zh-Hant-TW", timeZone: "Asia/Taipei", names: traditionalChinese),
    Locale(tag: "zh-Hant-HK", timeZone: "Asia/Hong_Kong", names: traditionalChinese),
    Locale(tag: "ja", timeZone: "Asia/Tokyo", names: japanese),
    Locale(tag: "ja-JP", timeZone: "Asia/Tokyo", names: japanese),
    Locale(tag: "ko", timeZone: "Asia/Seoul", names: korean),
    Locale(tag: "ko-KR", timeZone: "Asia/Seoul", names: korean),
    Locale(tag: "es", timeZone: "Europe/Madrid", names: spanish),
    Locale(tag: "es-MX", timeZone: "America/Mexico_City", names: spanish),
    Locale(tag: "es-419", timeZone: "America/Bogota", names: spanish),
    Locale(tag: "pt-BR", timeZone: "America/Sao_Paulo", names: portuguese),
    Locale(tag: "pt-BR", timeZone: "America/Manaus", names: portuguese),
    Locale(tag: "ar", timeZone: "Asia/Riyadh", names: arabic),
    Locale(tag: "ar-EG", timeZone: "Africa/Cairo", names: arabic),
  ]

  private static let english = [
    "Ada", "Ben", "Chloe", "Dylan", "Emma", "Finn", "Grace", "Harry", "Isla", "Jack", "Kate",
    "Leo", "Mia", "Noah", "Olivia", "Poppy", "Quinn", "Ruby", "Sam", "Theo", "Zoë", "O'Brien",
    "Anne-Marie", "J. R. \"Bob\" Dobbs",
  ]
  private static let simplifiedChinese = [
    "王伟", "李娜", "张敏", "刘洋", "陈静", "杨帆", "赵磊", "黄丽", "周杰", "吴倩", "徐强", "孙悦",
    "马超", "朱琳", "胡军", "郭雪",
  ]
  private static let traditionalChinese = [
    "陳怡君", "林志豪", "黃雅婷", "張家豪", "李淑芬", "王俊傑", "吳美玲", "劉建宏", "蔡佩珊", "楊宗翰",
    "許雅雯", "鄭凱文",
  ]
  private static let japanese = [
    "さくら", "ゆうき", "美咲", "翔太", "陽菜", "大輔", "ハルカ", "健太", "あいこ", "蓮", "結衣", "直樹",
    "千尋", "ケンジ",
  ]
  private static let korean = [
    "지민", "서연", "민준", "하은", "도윤", "수빈", "예준", "지우", "현우", "채원", "은지", "태현",
  ]
  private static let spanish = [
    "Sofía", "Mateo", "Valentina", "Santiago", "Lucía", "Íñigo", "María José", "Andrés", "Begoña",
    "Nicolás", "Ximena", "José Ángel",
  ]
  private static let portuguese = [
    "João", "Maria", "Antônio", "Letícia", "Luís", "Fernanda", "Estêvão", "Conceição", "Thiago",
    "Camila", "Vinícius", "Patrícia",
  ]
  private static let arabic = [
    "محمد", "فاطمة", "أحمد", "نور", "يوسف", "مريم", "عمر", "ليلى", "خالد", "سارة", "عبد الله",
    "هدى",
  ]
}
