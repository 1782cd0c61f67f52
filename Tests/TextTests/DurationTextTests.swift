import Testing
import Text

@Suite struct DurationTextTests {
  @Test(
    arguments: [
      ("0s", .zero), ("1ms", .milliseconds(1)), ("1s500ms", .milliseconds(1_500)),
      ("1m30s", .seconds(90)), ("15m", .seconds(900)), ("2h", .seconds(7_200)),
      ("2d", .seconds(172_800)), ("-5s", .seconds(-5)), ("-1m30s", .seconds(-90)),
      ("7us", .microseconds(7)), ("250ms", .milliseconds(250)), ("10d4h", .seconds(878_400)),
    ] as [(String, Duration)])
  func readsAndWrites(_ text: String, _ duration: Duration) throws {
    #expect(DurationText.text(duration) == text)
    #expect(try DurationText.parse(text) == duration)
  }

  /// What a jittered pause is, in words that one reads.
  @Test func cutsWhatNobodyReads() {
    #expect(DurationText.text(.seconds(0.17021484375)) == "170ms")
    #expect(DurationText.text(.seconds(1.0004)) == "1s")
    #expect(DurationText.text(.nanoseconds(999)) == "0s")
    #expect(DurationText.text(.seconds(Int64.max)) == "\(Int64.max)s")
    #expect(DurationText.text(.seconds(Int64.min)) == "\(Int64.min)s")
  }

  @Test(
    arguments: [
      ("0", .zero), ("1.5s", .milliseconds(1_500)), ("90s", .seconds(90)),
      ("48h", .seconds(172_800)), (".5s", .milliseconds(500)),
      ("9223372036854775807us", .microseconds(Int64.max)),
    ] as [(String, Duration)])
  func readsOtherForms(_ text: String, _ duration: Duration) throws {
    #expect(try DurationText.parse(text) == duration)
  }

  @Test(
    arguments: [
      ("", .notANumber), ("-", .notANumber), ("s", .notANumber),
      ("..s", .notANumber), ("--1s", .notANumber), ("٣s", .notANumber), ("5", .noUnit("5")),
      ("-5", .noUnit("-5")), ("1h5", .noUnit("5")), ("5 s", .unknownUnit), ("1S", .unknownUnit),
      ("1e3s", .unknownUnit), ("1-s", .unknownUnit), ("9223372036854775807s", .tooLarge),
      ("9223372036854775807us1us", .tooLarge), ("99999999999999999999.5d", .tooLarge),
    ] as [(String, DurationText.Flaw)])
  func saysWhatIsWrong(_ text: String, _ flaw: DurationText.Flaw) {
    #expect(throws: flaw) { try DurationText.parse(text) }
  }
}
