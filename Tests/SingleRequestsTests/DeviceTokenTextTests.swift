import SingleRequests
import Testing

@Suite struct DeviceTokenTextTests {
  @Test(arguments: [
    ("aabb0c", "aabb0c"), ("AABB0C", "aabb0c"), ("<aabb 0c>", "aabb0c"), (" aa bb\t0c\n", "aabb0c"),
    ("\"aabb0c\"", "aabb0c"),
  ])
  func takesATokenAsPhonesPrintIt(_ text: String, _ token: String) {
    #expect(DeviceTokenText.token(text) == token)
  }

  @Test(arguments: ["", "< >", "aab", "xyzz", "aabb0c;", "ａａ", "0xaabb", "aa-bb"])
  func refusesWhatNoTokenHas(_ text: String) {
    #expect(DeviceTokenText.token(text) == nil)
  }
}
