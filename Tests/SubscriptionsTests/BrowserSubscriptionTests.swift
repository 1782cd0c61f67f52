import Model
import Testing

@testable import Subscriptions

@Suite struct BrowserSubscriptionTests {
  private static let endpoint = "https://updates.push.services.mozilla.com/wpush/v2/gAAA:x?y=1"
  private static let p256dh =
    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
  private static let auth = "BTBZMqHH6r4Tts7J_aSIgg"

  private static func subscription(
    _ endpoint: String = endpoint, p256dh: String = p256dh, keyID: String? = nil,
    rules: SubscriptionRules = SubscriptionRules(keyIDs: ["main", "2025"])
  ) throws -> BrowserSubscription {
    try BrowserSubscription(
      topic: "com.example.live", endpoint: endpoint, p256dh: p256dh, auth: auth, keyID: keyID,
      rules: rules)
  }

  @Test func aBindingHoldsWhatAMessageIsEncryptedWith() throws {
    let binding = try Self.subscription(p256dh: Self.p256dh + "=").binding
    #expect(binding.keys == "\(Self.p256dh).\(Self.auth).main")
    #expect(binding.token == Self.endpoint && binding.destination == .webpush)
    #expect(
      binding.member
        == "webpush:com.example.live:\(Self.p256dh).\(Self.auth).main:\(Self.endpoint)")
    #expect(Binding(member: binding.member) == binding)
    #expect(Binding.token(ofMember: binding.member) == Self.endpoint)
    #expect(binding.shortToken == "updates.push.services.mozilla.com/…:x?y=1")
    #expect(try Self.subscription(keyID: "2025").binding.keys.hasSuffix(".2025"))
  }

  @Test func theKeysAreReadFromABindingWithoutLoss() throws {
    let keys = try SubscriptionKeys(p256dh: Self.p256dh, auth: Self.auth)
    var read = [UInt8](repeating: 0, count: SubscriptionKeys.byteCount)
    func id(_ text: String) -> String? {
      Array(text.utf8).withUnsafeBytes { text in
        read.withUnsafeMutableBytes { bytes in
          bytes.baseAddress.flatMap { SubscriptionKeys.read(text, to: $0) }.map {
            String(decoding: $0, as: UTF8.self)
          }
        }
      }
    }
    #expect(id(keys.text(keyID: "main")) == "main" && read == keys.bytes)
    #expect(id(keys.text(keyID: "a.b")) == "a.b")
    for text in [
      "", keys.text(keyID: ""), String(keys.text(keyID: "main").dropFirst()),
      "!" + keys.text(keyID: "main").dropFirst(),
      keys.text(keyID: "main").replacing(".", with: ":"),
    ] {
      #expect(id(text) == nil, "\(text)")
    }
  }

  @Test func whatIsRefusedIsSaidWithoutTheEndpoint() {
    for (endpoint, p256dh, keyID) in [
      ("https://10.0.0.1/x", Self.p256dh, nil), ("https://example.com/secret", Self.p256dh, nil),
      (Self.endpoint, "AAAA", nil), (Self.endpoint, Self.p256dh, "other"),
    ] as [(String, String, String?)] {
      let error = #expect(throws: BrowserSubscription.Problem.self) {
        try Self.subscription(endpoint, p256dh: p256dh, keyID: keyID)
      }
      #expect(error?.description.contains("secret") == false)
    }
  }

  /// Apple's and Android's members have no such field.
  @Test func keysAreThereForBrowsersAlone() {
    let keys = "\(Self.p256dh).\(Self.auth).main"
    #expect(Binding(destination: .webpush, topic: "a.b", token: Self.endpoint) == nil)
    #expect(Binding(destination: .fcm, topic: "a.b", keys: keys, token: "x") == nil)
    #expect(Binding(member: "webpush:a.b:\(Self.endpoint)") == nil)
    #expect(Binding(member: "webpush:a.b:\(keys):") == nil)
    #expect(Binding(member: "webpush:a.b:\(keys.dropLast(5)):x") == nil)
  }
}
