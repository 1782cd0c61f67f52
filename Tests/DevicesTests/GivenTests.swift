import Model
import Testing
import Text

@testable import Devices

/// Values as people give them.
@Suite struct GivenTests {
  private func refusal(_ body: () throws -> Void) -> GivenRefusal? {
    do {
      try body()
      return nil
    } catch {
      return error as? GivenRefusal
    }
  }

  @Test func aDeviceIsTakenAsPhonesPrintIt() throws {
    let binding = try Given.binding(
      token: "<AABB ccdd>", topic: "com.example.live", environment: .sandbox)
    #expect(binding.member == "apns:sandbox:com.example.live:aabbccdd")
    #expect(try Given.environment("production") == .production)
    #expect(Binding(member: binding.member) == binding)
    #expect(Binding(member: "apns:sandbox:com.example.live:AABB") == nil)
    #expect(Binding(member: "web:sandbox:com.example.live:aabb") == nil)
  }

  /// What is refused is told: its name and what it must be, and never a token.
  @Test func refusalsNameTheFieldAndTheRule() {
    let token = refusal { _ = try Given.token("not a token", as: "old") }
    #expect(token?.name == "old" && token?.rule.contains("hex") == true)
    let encoded = refusal { _ = try Given.token("ABEiM0RVZnf4+fr7/P3+/wARIjNEVWZ3iJmqu8zd7v8=") }
    #expect(encoded?.hint.contains("00112233") == true)
    #expect(encoded.map { DevicesError($0).description.contains("00112233") } == false)
    #expect(refusal { _ = try Given.environment("prod") }?.name == "environment")
    #expect(refusal { try Given.topic("a b") }?.name == "topic")
    #expect(refusal { try Given.user("") }?.name == "user")
    #expect(refusal { try Given.user("a{b") }?.name == "user")
    #expect(refusal { try Given.streamer("s:1:2") }?.rule.contains("<digits>") == true)
    #expect(refusal { try Given.streamer("s:1") } == nil)
  }

  @Test(arguments: [
    ("locale", "zh-Hant-TW", "zh-Hant-TW"), ("muted", "true", "1"), ("muted", "0", "0"),
    ("quiet", "22:00-07:00", "22:00-07:00"), ("tz", "America/Argentina/Buenos_Aires", nil),
    ("tz", "Etc/GMT+3", nil), ("tz", "asia/tokyo", nil), ("tz", "GMT+0900", nil),
    ("tz", "+05:30", nil), ("tz", "US/Pacific", nil), ("tz", "EST5EDT", nil), ("tz", "Z", nil),
    ("locale", "en_US.UTF-8", nil), ("locale", "zh_TW_#Hant", nil), ("locale", "iw", nil),
    ("locale", "en_US@calendar=japanese", nil), ("locale", "en-US-u-ca-gregory", nil),
    ("locale", "jpn", nil), ("locale", "nan-TW", nil), ("locale", "wuu", nil),
    ("locale", "mni-Mtei-IN", nil), ("locale", "es-419", nil), ("badge", "3", "3"),
    ("name", "さくら", nil),
    ("muted_streamers", "s1\ns2", nil), ("anything", "{}", nil), ("quiet", "", ""),
  ])
  func aProfileIsStoredAsItIsRead(_ name: String, _ given: String, _ stored: String?) throws {
    #expect(try ProfilePatch([(name, given)]).fields[name] == stored ?? given)
    #expect(try ProfilePatch([(name, nil)]).fields[name] == "")
  }

  @Test(arguments: [
    ("locale", "j"), ("locale", "日本語"), ("muted", "yes"), ("quiet", "22-7"),
    ("quiet", "24:00-07:00"), ("tz", "Berlin!"), ("tz", "GMT+90"), ("tz", "Asia/Tokio"),
    ("tz", "JST"), ("tz", "JST-9"),
    ("tz", "Tokyo Standard Time"), ("tz", "32400"), ("tz", "UTC+15"), ("tz", "localtime"),
    ("locale", "jp"), ("locale", "C"), ("locale", "POSIX"), ("locale", "english"),
    ("locale", "ja,en;q=0.9"), ("locale", "de-"), ("badge", "-1"), ("badge", "1.5"),
    ("badge", "+3"), ("muted_streamers", "a{b"), ("muted_streamers", "s1\n\ns2"), ("", "x"),
    ("a b", "x"), ("name", String(repeating: "x", count: 1_025)),
  ])
  func whatWouldCountAsNotSetIsRefused(_ name: String, _ value: String) {
    let refused = refusal { _ = try ProfilePatch([(name, value)]) }
    #expect(refused != nil)
    #expect(refused?.name == name || refused?.name == "profile")
  }

  /// For whoever gave the value.
  @Test(arguments: [
    ("tz", "Asia/Tokio", "did you mean Asia/Tokyo?"), ("tz", "Tokyo Standard Time", "Windows"),
    ("tz", "PST", "ambiguous"), ("locale", "jp", "its language ja"),
    ("locale", "C.UTF-8", "leave the locale out"), ("locale", "ja,en", "one tag"),
  ])
  func aRefusalSaysWhatWasMeant(_ name: String, _ value: String, _ words: String) {
    let refused = refusal { _ = try ProfilePatch([(name, value)]) }
    #expect(refused?.hint.contains(words) == true, "\(refused?.hint ?? "")")
  }

  /// It would be stored, and no rule would read it.
  @Test(arguments: [
    ("timezone", "tz"), ("TZ", "tz"), ("time_zone", "tz"), ("timeZone", "tz"),
    ("language", "locale"), ("lang", "locale"), ("Locale", "locale"), ("quiet_hours", "quiet"),
    ("Quiet", "quiet"), ("mutedStreamers", "muted_streamers"), ("Muted", "muted"),
  ])
  func aFieldByAnotherNameIsRefused(_ name: String, _ own: String) throws {
    let refused = refusal { _ = try ProfilePatch([(name, "x")]) }
    #expect(refused?.name == name && refused?.rule.hasPrefix("written \(own):") == true)
    // It may go.
    #expect(try ProfilePatch([(name, nil)]).fields[name] == "")
  }

  @Test(arguments: [
    ("tz", "Asia/Tokyo "), ("locale", "pt-br "), ("tz", "\nUTC"), ("locale", "ja\n"),
  ])
  func aBlankAtAnEndIsNamed(_ name: String, _ value: String) {
    let refused = refusal { _ = try ProfilePatch([(name, value)]) }
    #expect(refused?.hint.contains("blank or a line break") == true, "\(refused?.hint ?? "none")")
  }

  @Test func aFieldIsGivenOnceAndNotTooMany() {
    #expect(refusal { _ = try ProfilePatch([("name", "a"), ("name", nil)]) }?.name == "name")
    #expect(refusal { _ = try ProfilePatch((0...32).map { ("f\($0)", "x") }) } != nil)
    // Rules look at 16 KiB of a list.
    let list = String(repeating: "streamer-1\n", count: 1_000) + "s"
    #expect(refusal { _ = try ProfilePatch([("muted_streamers", list)]) } == nil)
    #expect(refusal { _ = try ProfilePatch([("muted_streamers", list + list)]) } != nil)
  }

  /// Before anybody looks for a meaning in it, which takes long of a long text.
  @Test func theLengthOfAValueIsLookedAtFirst() {
    let long = String(repeating: "e\u{301}", count: 100_000)
    let refusal = #expect(throws: GivenRefusal.self) { _ = try ProfilePatch([("locale", long)]) }
    #expect(refusal?.rule.contains("of over 1024 bytes") == true, "\(refusal?.rule ?? "")")
    let token = #expect(throws: DeviceTokenText.Refusal.self) {
      _ = try DeviceTokenText.read(String(repeating: "Zm9v", count: 10_000))
    }
    #expect(token?.rule.contains("40000 bytes") == true)
  }
}
