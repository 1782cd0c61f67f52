import Testing
import Text

@Suite struct StoredNumberTests {
  @Test(
    arguments: [
      ("0", 0), ("-7", -7), ("9223372036854775807", 1 << 52), ("-9223372036854775808", -(1 << 52)),
      ("9223372036854775808", nil), ("", nil), ("1.5", nil),
    ] as [(String, Int64?)])
  func isReadWithinBounds(text: String, number: Int64?) {
    #expect(StoredNumber.read(text) == number)
  }
}
