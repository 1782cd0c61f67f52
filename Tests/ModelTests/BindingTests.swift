import Model
import Testing

@Suite struct BindingTests {
  private func binding(_ topic: String, _ token: String) -> Binding? {
    Binding(destination: .production, topic: topic, token: token)
  }

  @Test func memberIsItsText() {
    let production = Binding(destination: .production, topic: "com.example.Live-1", token: "00fF")
    #expect(production?.member == "apns:production:com.example.Live-1:00ff")
    let sandbox = Binding(destination: .sandbox, topic: "a", token: "12")
    #expect(sandbox?.member == "apns:sandbox:a:12")
  }

  @Test func upperCaseDigitsAreLowered() {
    #expect(binding("a", "ABCDEF0123456789")?.token == "abcdef0123456789")
    #expect(binding("a", "ABCD") == binding("a", "abcd"))
  }

  @Test(arguments: [2, 64, 160, 200, 512]) func evenLengthsAreTaken(length: Int) {
    #expect(binding("a", String(repeating: "a", count: length))?.token.count == length)
  }

  @Test(arguments: [0, 1, 63, 65, 513, 514, 10_000]) func otherLengthsAreRefused(length: Int) {
    #expect(binding("a", String(repeating: "a", count: length)) == nil)
  }

  @Test(arguments: [
    "<00fc13ad ff785122>", "00 fc", "0g", "../x", "%2f", "?x", "ab\r\n", "ab\0\0", "-a", "a:",
    "ａb", "é", "0x12", "12345\u{301}",
  ])
  func otherDigitsAreRefused(token: String) {
    #expect(binding("a", token) == nil)
  }

  @Test(arguments: [
    "", "a b", "a:b", "a_b", "a/b", "a\r\n", "a\0", "é", "a*", ":path",
    String(repeating: "a", count: 256),
  ])
  func topicsThatAreNoBundleIDAreRefused(topic: String) {
    #expect(binding(topic, "ab") == nil)
    #expect(!Binding.isTopic(topic))
  }

  @Test(arguments: [
    ("apns:production:a.b:00ff", "00ff"), ("toy:a.b:x:one", "x:one"),
    ("toy:a.b:https://push:443/x", "https://push:443/x"), ("toy:a.b:", ""), ("a:b:c", "c"),
    ("apns:b:c", "apns:b:c"), ("a:b", "a:b"), ("fcm:a.b:d:e", "d:e"),
  ])
  func theTokenIsTheRestOfAMember(member: String, token: String) {
    #expect(Binding.token(ofMember: member) == token)
  }

  @Test func environmentsHaveNames() {
    #expect(Destination.all.prefix(2).map(\.name) == ["production", "sandbox"])
  }
}
