import Testing

@testable import Telemetry

@Suite struct RedactionTests {
  private let key = TokenLabelKey(words: (0x0706_0504_0302_0100, 0x0F0E_0D0C_0B0A_0908))
  private static let token = String(repeating: "0123456789abcdef", count: 4)
  private static let webToken =
    "eyJhbGciOiJFUzI1NiIsImtpZCI6IkFCQyJ9.eyJpc3MiOiJURUFNIiwiaWF0IjoxfQ.c2lnbmF0dXJl-_x"
  private static let block =
    "-----BEGIN PRIVATE KEY-----\nMIGTAgEAMBMGByqGSM49\nAgEGCCqGSM49\n-----END PRIVATE KEY-----"

  /// From the reference implementation's vectors: input 00, 01, 02, … of the given length.
  @Test(arguments: [
    (0, UInt64(0x726F_DB47_DD0E_0E31)), (1, 0x74F8_39C5_93DC_67FD), (7, 0xAB02_00F5_8B01_D137),
    (8, 0x93F5_F579_9A93_2462), (15, 0xA129_CA61_49BE_45E5), (63, 0x958A_324C_EB06_4572),
  ])
  func sipHashMatchesItsVectors(length: Int, expected: UInt64) {
    let input = (0..<length).map { UInt8($0) }
    #expect(input.withUnsafeBytes { SipHash.hash($0, key: key.words) } == expected)
  }

  @Test func labelsAreStableAndKeyed() {
    let label = TokenLabel(Self.token, key: key)
    #expect(label.description.wholeMatch(of: /tok:[0-9a-f]{8}/) != nil)
    #expect(label == TokenLabel(Self.token.uppercased(), key: key))
    #expect(label != TokenLabel(Self.token, key: TokenLabelKey(words: (1, 2))))
    #expect(label != TokenLabel(String(Self.token.reversed()), key: key))
    let secret = TokenLabelKey(secret: [1, 2, 3])
    #expect(
      TokenLabel("a", key: secret) == TokenLabel("a", key: TokenLabelKey(secret: [1, 2, 3])))
    #expect(secret.words.0 != secret.words.1)
    #expect(TokenLabel("", key: key).description.utf8.count == 12)
  }

  @Test func smallLabelsKeepTheirDigits() {
    // One in sixteen labels starts with 0; all have 8 digits.
    for index in 0..<200 {
      #expect(TokenLabel("\(index)", key: key).description.utf8.count == 12)
    }
  }

  @Test func tokensBecomeTheirLabels() {
    let scrubber = Scrubber(key: key)
    let label = TokenLabel(Self.token, key: key).description
    #expect(scrubber.scrub(Self.token) == label)
    #expect(
      scrubber.scrub("apns:sandbox:com.example.live:\(Self.token.uppercased()), next")
        == "apns:sandbox:com.example.live:\(label), next")
    #expect(scrubber.scrub("path=/3/device/\(Self.token)?") == "path=/3/device/\(label)?")
    let longer = Self.token + Self.token + "ab"
    #expect(scrubber.scrub("<\(longer)>") == "<\(TokenLabel(longer, key: key))>")
  }

  @Test(arguments: [
    "", "plain words, 日本語 and 👩‍👩‍👧‍👦", "live-8f2c", "018f0000-0000-8000-8000-000000000000",
    "a ship's bearer", "forbearers are people", "e", "eyJ", "eyJab.c", "-----", "b", "bearer",
    "redis://host:6379/0", "https://example.com/a:b@c", "12:34:56", "a@b:c", "::@",
    String(token.dropLast()),
  ])
  func harmlessTextStays(text: String) { #expect(Scrubber(key: key).scrub(text) == text) }

  /// What is harmless is not looked at any further.
  @Test(arguments: [
    webToken, block, "-----BEGIN X", token, "bearer x", "BEARER x", "Bearer:x", "redis://u:p@h",
    "redis://:p@h", String(repeating: "F", count: 64), "eyJabcdefghijklm",
  ])
  func whatHoldsASecretIsNotHarmless(secret: String) {
    for text in [secret, "x \(secret)", "\(secret) x", "xx\(secret)", "é\(secret)"] {
      #expect(Scrubber(key: key).scrub(text) != text || text.hasPrefix("xx"))
      var text = text
      let isHarmless = text.withUTF8 { Scrubber.isHarmless(UnsafeRawBufferPointer($0)) }
      #expect(!isHarmless, "\(text)")
    }
  }

  @Test func secretsAreRedacted() {
    let scrubber = Scrubber(key: key)
    #expect(scrubber.scrub("authorization: bearer \(Self.webToken)") == "authorization: [redacted]")
    #expect(scrubber.scrub("Bearer   abc, x") == "[redacted] x")
    #expect(scrubber.scrub("bearer abearer bbearer c") == "[redacted]")
    #expect(scrubber.scrub("{\"a\":\"BEARER:x\"}") == "{\"a\":\"[redacted]\"}")
    #expect(scrubber.scrub("jwt \(Self.webToken), kept") == "jwt [redacted], kept")
    #expect(scrubber.scrub("cut \(Self.webToken.prefix(30))") == "cut [redacted]")
    #expect(scrubber.scrub("key \(Self.block) kept") == "key [redacted] kept")
    #expect(scrubber.scrub("key \(Self.block.prefix(60))") == "key [redacted]")
    #expect(scrubber.scrub("\(Self.block)\n\(Self.block)") == "[redacted]\n[redacted]")
    #expect(
      scrubber.scrub("redis://app:p@ss:w@host:6379/0 x") == "redis://app:[redacted]@host:6379/0 x")
    #expect(scrubber.scrub("redis://:pass@host") == "redis://:[redacted]@host")
  }

  /// A canary of each kind, at every place and every cut: none of it is ever in a line.
  @Test func noCanaryIsEverPrinted() {
    let fixture = LogFixture()
    let canaries = [
      Self.token, Self.webToken, Self.block, "bearer canary-canary-canary-canary-1",
      "BEARER canary-2", "-----BEGIN KEY-----MIGTAgEA-----END KEY-----", "redis://u:canary@h",
    ]
    let fragments = [
      "0123456789abcdef0123", "eyJhbGci", "eyJpc3", "c2lnbmF0", "MIGTAgEA", "AgEGCC", "canary",
    ]
    for format in [LogFormat.json, .text(coloured: false)] {
      let log = fixture.log(format)
      for canary in canaries {
        for length in [0, 1, 900, 950, 1_000, 1_020, 1_024, 4_000, 4_050, 4_095, 4_096, 9_000] {
          let padding = String(repeating: "p", count: max(0, length - 1)) + " "
          let text = padding + canary + padding
          log.info(text, [text: .text(text), canary: 1, "v": "\(canary)"])
          log.error("\(canary)\(canary)", ["c": .text(canary)])
          log.info("x", ["t": .text(String(repeating: canary + " ", count: 200))])
          log.info("x", ["t": .text(String(repeating: canary, count: 200))])
        }
      }
      log.info("label", ["token": log.label(Self.token)])
    }
    for line in fixture.sink.lines {
      for fragment in fragments { #expect(!line.contains(fragment), "\(line)") }
    }
    let label = TokenLabel(Self.token, key: TokenLabelKey(words: (1, 2)))
    #expect(fixture.sink.lines.last?.hasSuffix("label  token=\(label)") == true)
  }

  /// Labels are shorter than tokens: text from around the cut may come to stand in what is kept.
  @Test func aCutLeavesNoPartOfASecret() {
    let scrubber = Scrubber(key: key)
    for separator in [" ", "\n"] {
      var text = ["0123", Self.token, Self.webToken, Self.token, "x"].joined(separator: separator)
      let result = text.withUTF8 { bytes in
        (0..<bytes.count).map {
          let kept = scrubber.scrub(UnsafeRawBufferPointer(bytes), limit: $0)
          return String(decoding: kept, as: UTF8.self)
        }
      }
      for kept in result {
        #expect(!kept.contains("01234") && !kept.contains("eyJ"), "\(kept)")
        #expect(kept.hasSuffix("…"))
      }
    }
  }
}
