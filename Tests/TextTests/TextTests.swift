import Testing
import Text

@Suite struct TextTests {
  @Test(arguments: [
    ("worker", "wroker", 1), ("", "abc", 3), ("abc", "", 3), ("kitten", "sitting", 3),
    ("a", "a", 0),
  ])
  func editsAreCounted(first: String, second: String, distance: Int) {
    #expect(EditDistance.between(Array(first), Array(second)) == distance)
    #expect(EditDistance.between(Array(second), Array(first)) == distance)
  }

  @Test func aDateHasTwoDigitsForMonthAndDay() {
    #expect(CivilTime(milliseconds: 1_795_248_000_123).dateText == "2026-11-21")
    #expect(CivilTime(milliseconds: 1_700_000).dateText == "1970-01-01")
  }

  @Test(arguments: [("kitten", "sitting"), ("abcd", "badc"), ("worker", "w"), ("abc", "xyzw")])
  func aDistanceBeyondTheLimitStaysBeyondIt(first: String, second: String) {
    let distance = EditDistance.between(Array(first), Array(second))
    for limit in 0...5 {
      let found = EditDistance.between(Array(first), Array(second), atMost: limit)
      #expect(distance <= limit ? found == distance : found > limit)
    }
  }

  @Test(arguments: [
    ("plain", #""plain""#), ("a \"b\" \\", #""a \"b\" \\""#), ("\n\r\t", #""\n\r\t""#),
    ("\u{1B}[2J\u{7F}\u{9F}", #""\u001b[2J\u007f\u009f""#), ("\u{2028}", #""\u2028""#),
    ("é日🎮", #""é日🎮""#),
  ])
  func textBecomesAJSONString(text: String, quoted: String) {
    #expect(JSONString.quoted(text) == quoted)
  }

  @Test(
    arguments: [
      (0, [1970, 1, 1, 0, 0, 0, 0]), (-1, [1969, 12, 31, 23, 59, 59, 999]),
      (951_782_400_000, [2000, 2, 29, 0, 0, 0, 0]),
      (4_107_542_399_999, [2100, 2, 28, 23, 59, 59, 999]),
      (1_795_248_000_123, [2026, 11, 21, 8, 0, 0, 123]),
      (-62_167_219_200_000, [0, 1, 1, 0, 0, 0, 0]),
      (-62_167_219_200_001, [-1, 12, 31, 23, 59, 59, 999]),
    ] as [(Int64, [Int])])
  func aMomentHasItsDate(milliseconds: Int64, parts: [Int]) {
    let time = CivilTime(milliseconds: milliseconds)
    #expect(
      [time.year, time.month, time.day, time.hour, time.minute, time.second, time.millisecond]
        == parts)
  }

  @Test func everyMomentHasADate() {
    for extreme in [Int64.min, .min + 1, .max] {
      let time = CivilTime(milliseconds: extreme)
      #expect((1...12).contains(time.month) && (1...31).contains(time.day))
      #expect((0..<86_400_000).contains(time.millisecondOfDay))
    }
  }

  @Test func theSameSeedGivesTheSameNumbers() {
    // The first numbers of the reference implementation for the seed 1234567.
    var random = SplitMix64(seed: 1_234_567)
    let expected: [UInt64] = [
      6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423,
    ]
    #expect((0..<3).map { _ in random.next() } == expected)
  }

  @Test(
    arguments: [
      ([], ""), ([0xFB], "-w"), ([0xFF, 0xEF], "_-8"), (Array("foobar".utf8), "Zm9vYmFy"),
    ] as [([UInt8], String)])
  func base64URLGoesBothWays(bytes: [UInt8], text: String) {
    #expect(Base64URL.encode(bytes) == text)
    #expect(Base64URL.decode(Array(text.utf8)) == bytes)
  }

  @Test(arguments: [[], [0], [0xFF, 0xFE], [1, 2, 3], Array(0...255)] as [[UInt8]])
  func base64RoundTrips(bytes: [UInt8]) {
    let text = Base64URL.encode(bytes)
    #expect(!text.contains("=") && !text.contains("+") && !text.contains("/"))
    #expect(Base64URL.decode(text.utf8) == bytes)
  }

  @Test(arguments: ["A", "AB=", "A+", "AB\n", "AAAAA", "AB"])
  func base64RefusesWhatItNeverWrites(text: String) {
    #expect(Base64URL.decode(text.utf8) == nil)
  }
}
