import Glibc
import Testing
import Text

private let sampleTime: Int64 = 1_795_248_000_000

@Suite struct TimestampTests {
  @Test(
    arguments: [
      ("1970-01-01T00:00:00Z", 0), ("1970-01-01T00:00:00.001Z", 1),
      ("2026-11-21T08:00:00Z", sampleTime), ("2026-11-21t08:00:00z", sampleTime),
      ("2026-11-21T08:00:00-00:00", sampleTime), ("2026-11-21T17:00:00+09:00", sampleTime),
      ("2026-11-21T02:30:00-05:30", sampleTime), ("2026-11-22T07:59:00+23:59", sampleTime),
      ("2026-11-21T08:00:00.9Z", sampleTime + 900), ("2026-11-21T08:00:00.98Z", sampleTime + 980),
      ("2026-11-21T08:00:00.987Z", sampleTime + 987),
      ("2026-11-21T08:00:00.987999999Z", sampleTime + 987),
      ("2026-11-21T08:00:00.000000001Z", sampleTime),
      ("2000-02-29T00:00:00Z", 951_782_400_000), ("2024-02-29T23:59:59Z", 1_709_251_199_000),
      ("1969-12-31T23:30:00-01:00", nil), ("1970-01-01T00:59:59+01:00", nil),
      ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
    ] as [(String, Int64?)])
  func reads(_ text: String, _ milliseconds: Int64?) {
    #expect(Timestamp.milliseconds(text) == milliseconds)
  }

  @Test(arguments: [
    "", "Z", "2026", "2026-11-21", "2026-11-21T08:00:00", "2026-11-21T08:00Z",
    "2026-11-21 08:00:00Z", "2026-11-21T08:00:00 Z", " 2026-11-21T08:00:00Z",
    "2026-11-21T08:00:00Z ", "2026-11-21T08:00:00ZZ", "2026-11-21T08:00:00Z\n",
    "2026-11-21T08:00:00.Z", "2026-11-21T08:00:00.1234567890Z", "2026-11-21T08:00:00,5Z",
    "2026-11-21T08:00:00+9:00", "2026-11-21T08:00:00+0900", "2026-11-21T08:00:00+24:00",
    "2026-11-21T08:00:00+00:60", "2026-11-21T08:00:00+", "2026-11-21T24:00:00Z",
    "2026-11-21T08:60:00Z", "2026-11-21T08:00:60Z", "2016-12-31T23:59:60Z",
    "2026-00-21T08:00:00Z", "2026-13-21T08:00:00Z", "2026-11-00T08:00:00Z",
    "2026-11-31T08:00:00Z", "2026-02-29T08:00:00Z", "2100-02-29T08:00:00Z",
    "1900-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "0000-01-01T00:00:00Z",
    "10000-01-01T00:00:00Z", "-026-11-21T08:00:00Z", "+026-11-21T08:00:00Z",
    "2026-1-21T08:00:00Z", "2026-11-2٣T08:00:00Z", "２026-11-21T08:00:00Z", "1795248000",
  ])
  func refuses(_ text: String) {
    #expect(Timestamp.milliseconds(text) == nil)
  }

  @Test func agreesWithTheSystemOnRandomDates() throws {
    var random = SplitMix64(seed: 1)
    for _ in 0..<50_000 {
      var broken = tm()
      let year = Int32.random(in: 1971...9998, using: &random)
      broken.tm_year = year - 1900
      broken.tm_mon = .random(in: 0...11, using: &random)
      broken.tm_mday = .random(in: 1...28, using: &random)
      broken.tm_hour = .random(in: 0...23, using: &random)
      broken.tm_min = .random(in: 0...59, using: &random)
      broken.tm_sec = .random(in: 0...59, using: &random)
      let east = Int64.random(in: -1439...1439, using: &random)
      let text =
        "\(digits(Int64(year), 4))-\(digits(Int64(broken.tm_mon) + 1))-\(digits(broken.tm_mday))"
        + "T\(digits(broken.tm_hour)):\(digits(broken.tm_min)):\(digits(broken.tm_sec))"
        + "\(east < 0 ? "-" : "+")\(digits(abs(east) / 60)):\(digits(abs(east) % 60))"
      let expected = (Int64(timegm(&broken)) - east * 60) * 1000
      guard Timestamp.milliseconds(text) == expected else {
        Issue.record("\(text)")
        return
      }
    }
  }

  @Test func knowsEveryDayOfFourHundredYears() {
    var expected: Int64 = 4_102_444_800_000  // 2100-01-01
    for year in 2100..<2500 {
      for month in 1...12 {
        for day in 1...31 {
          let text = "\(year)-\(digits(month))-\(digits(day))T00:00:00Z"
          guard exists(year, month, day) else {
            if Timestamp.milliseconds(text) != nil { Issue.record("\(text)") }
            continue
          }
          if Timestamp.milliseconds(text) != expected { Issue.record("\(text)") }
          expected += 86_400_000
        }
      }
    }
  }

  /// The system moves a day that does not exist into the next month.
  private func exists(_ year: Int, _ month: Int, _ day: Int) -> Bool {
    var broken = tm()
    broken.tm_year = Int32(year - 1900)
    broken.tm_mon = Int32(month - 1)
    broken.tm_mday = Int32(day)
    _ = timegm(&broken)
    return broken.tm_mday == Int32(day)
  }

  private func digits(_ value: some BinaryInteger, _ width: Int = 2) -> String {
    let text = String(Int(value))
    return String(repeating: "0", count: max(0, width - text.count)) + text
  }
}
