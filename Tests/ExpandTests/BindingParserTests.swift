import Model
import Testing

@testable import Expand

@Suite struct BindingParserTests {
  private func parse(_ text: String) -> BindingParser.Result {
    var text = text
    return text.withUTF8 { BindingParser(topic: app).parse(UnsafeRawBufferPointer($0)) }
  }

  @Test func everyMemberThatModelWritesIsRead() throws {
    for destination in Destination.all {
      for length in [2, 64, 200, 512] {
        let token = String(repeating: "0f", count: length / 2)
        let keyCount = destination.platform.keyBytes?.lowerBound ?? 0
        let keys = String(repeating: "k", count: keyCount)
        let binding = try #require(
          Binding(destination: destination, topic: app, keys: keys, token: token))
        #expect(
          parse(binding.member)
            == .addressed(tokenCount: length, keyCount: keyCount, destination))
      }
    }
  }

  @Test func appsAreToldApartByTheWholeTopic() {
    #expect(parse(member("aa", topic: "com.example.liv")) == .ofAnotherTopic)
    #expect(parse(member("aa", topic: "com.example.live2")) == .ofAnotherTopic)
    #expect(parse(member("aa", topic: "com.example")) == .ofAnotherTopic)
    #expect(parse(member("aa", topic: app + ".voip")) == .ofAnotherTopic)
    #expect(parse(member("xx", topic: "com.example")) == .malformed)
  }

  @Test func onlyHexDigitsMakeAToken() {
    for byte in UInt8.min...UInt8.max {
      let isHex =
        (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte)
        || (0x61...0x66).contains(byte)
      // At either end and within a long one, where vector code looks.
      for position in [0, 31, 63] {
        var token = [UInt8](repeating: 0x61, count: 64)
        token[position] = byte
        #expect(token.withUnsafeBytes { Platform.apns.tokens.accepts($0) } == isHex, "\(byte)")
      }
    }
  }
}
