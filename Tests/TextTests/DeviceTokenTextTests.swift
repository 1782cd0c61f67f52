import Testing
import Text

@Suite struct DeviceTokenTextTests {
  @Test(arguments: [
    ("aabb0c", "aabb0c"), ("AABB0C", "aabb0c"), ("<aabb 0c>", "aabb0c"), (" aa bb\t0c\n", "aabb0c"),
    ("\"aabb0c\"", "aabb0c"),
  ])
  func takesATokenAsPhonesPrintIt(_ text: String, _ token: String) {
    #expect((try? DeviceTokenText.read(text)) == token)
  }

  @Test(arguments: ["", "< >", "aab", "xyzz", "aabb0c;", "ａａ", "0xaabb", "aa-bb"])
  func refusesWhatNoTokenHas(_ text: String) {
    #expect((try? DeviceTokenText.read(text)) == nil)
  }

  @Test func takesAnySaneLength() {
    for digits in [2, 64, 160, 200, 512] {
      #expect(
        (try? DeviceTokenText.read(String(repeating: "A", count: digits)))?.utf8.count == digits)
    }
    #expect(refusal(String(repeating: "a", count: 514))?.rule.contains("at most 512") == true)
    #expect(refusal("aab")?.rule.contains("even") == true)
  }

  /// 32 bytes, of which the text below is the base64.
  private static let bytes = "0011223344556677f8f9fafbfcfdfeff00112233445566778899aabbccddeeff"

  @Test(arguments: [
    "ABEiM0RVZnf4+fr7/P3+/wARIjNEVWZ3iJmqu8zd7v8=", "ABEiM0RVZnf4+fr7/P3+/wARIjNEVWZ3iJmqu8zd7v8",
    "ABEiM0RVZnf4-fr7_P3-_wARIjNEVWZ3iJmqu8zd7v8",
  ])
  func base64IsRefusedWithTheHexThatWasMeant(_ text: String) {
    let refusal = refusal(text)
    #expect(refusal?.hex == Self.bytes)
    #expect(refusal?.rule.contains("base64") == true)
    #expect(refusal?.rule.contains(Self.bytes) == false)
  }

  @Test(arguments: ["token", "YWJj", "ABEiM0RVZnf4+fr7/P3+/wARIjNEVWZ3iJmqu8zd7v8===", "a b;"])
  func notEveryWordIsBase64(_ text: String) {
    #expect(refusal(text) != nil && refusal(text)?.hex == nil)
  }

  @Test func theDescriptionThatLeavesBytesOutIsNamed() {
    let text = "{length = 32, bytes = 0xd3d997af 967d1f43 b405374a ... 28f10282 14af515f}"
    #expect(refusal(text)?.rule.contains("%02x") == true)
  }

  private func refusal(_ text: String) -> DeviceTokenText.Refusal? {
    do throws(DeviceTokenText.Refusal) {
      _ = try DeviceTokenText.read(text)
      return nil
    } catch {
      return error
    }
  }
}
