import Ingest
import Kafka
import Testing

@testable import DeadLetters

@Suite struct LetterSummaryTests {
  @Test(arguments: [("0:12", 0, 12), ("7:0", 7, 0)] as [(String, Int32, Int64)])
  func anIDIsPartitionAndOffset(_ text: String, _ partition: Int32, _ offset: Int64) {
    #expect(LetterID(text) == LetterID(partition: partition, offset: offset))
    #expect(LetterID(partition: partition, offset: offset).description == text)
  }

  @Test(arguments: [
    "", ":", "0", "0:", ":1", "0:1:2", "-1:2", "0:-2", "+0:1", "0: 1", "a:b", "99999999999:1",
    "0:9223372036854775807", "0:٣",
  ])
  func otherTextsAreNoID(_ text: String) {
    #expect(LetterID(text) == nil)
  }

  @Test func whatAWorkerWroteIsRead() {
    let letter = LetterSummary(Samples.letter(Samples.event("e1", more: #","app":7"#)))
    #expect(letter.id == LetterID(partition: 0, offset: 12))
    #expect(letter.code == "wrong_type")
    #expect(letter.reason == "app is a string")
    #expect(letter.source == "notify-followers/3/17")
    #expect(letter.topic == "notify-followers")
    #expect(letter.writtenAt == Samples.now)
    #expect(!letter.isAbridged)
  }

  @Test(
    arguments: [
      (#"{"id":"e1","streamer":{"id":"s2"}}"#, "k", "e1", "s2"),
      (#"{"specversion":"1.0","id":"c1","data":{"streamer":{"id":"s2"}}}"#, "k", "c1", "s2"),
      (#"{"event":{"id":"e1","streamer":{"id":"s2"}},"shard":0}"#, "e1/3.0", "e1", "s2"),
      (#"{"id":7,"streamer":[]}"#, "k", nil, nil),
      ("no JSON", "s7", nil, "s7"), ("no JSON", "e9/3.0", "e9", nil),
    ] as [(String, String, String?, String?)])
  func idsAreReadWhereverTheyAre(
    _ value: String, _ key: String, _ event: String?, _ streamer: String?
  ) {
    let letter = LetterSummary(Samples.letter(Array(value.utf8), key: key))
    #expect(letter.event == event)
    #expect(letter.streamer == streamer)
  }

  @Test func aStrangersRecordTrapsNothing() {
    let record = KafkaMessage(
      topic: "d", partition: 0, offset: 0, key: [0xFF], value: [0xFF, 0x00],
      headers: [KafkaHeader(name: "fanfare-source", value: nil)])
    let letter = LetterSummary(record)
    #expect(letter.topic == "" && letter.code == "" && letter.event == nil)
  }

  @Test func summariesAreBounded() {
    let headers = (0..<60).map { KafkaHeader("h\($0)", String(repeating: "x", count: 10_000)) }
    let letter = LetterSummary(Samples.letter(nil, headers: headers))
    #expect(letter.headerText.utf8.count <= LetterSummary.maximumHeaderBytes)
  }
}

@Suite struct LetterFilterTests {
  private let letter = LetterSummary(
    Samples.letter(
      Samples.event("e1", streamer: "s\u{E9}"), headers: [KafkaHeader("team", "Payments")]))

  private func matches(
    _ state: LetterState = .new, _ change: (inout LetterFilter) -> Void
  ) -> Bool {
    var filter = LetterFilter()
    change(&filter)
    return filter.matches(letter, state: state)
  }

  @Test func eachConditionDecides() {
    #expect(matches { _ in })
    #expect(matches { $0.event = "e1" } && !matches { $0.event = "e2" })
    #expect(matches { $0.code = "wrong_type" } && !matches { $0.code = "wrong" })
    #expect(matches { $0.text = "APP IS" } && matches { $0.text = "payments" })
    #expect(matches { $0.text = "worker-1" } && !matches { $0.text = "nobody" })
    #expect(matches { $0.since = Samples.now } && !matches { $0.since = Samples.now + 1 })
    #expect(!matches { $0.until = Samples.now } && matches { $0.until = Samples.now + 1 })
  }

  @Test func idsAreComparedByTheirBytes() {
    #expect(matches { $0.streamer = "s\u{E9}" })
    #expect(!matches { $0.streamer = "se\u{301}" })
  }

  @Test func droppedLettersAreNamed() {
    #expect(!matches(.dropped) { _ in })
    #expect(matches(.dropped) { $0.includesDropped = true })
    #expect(matches(.dropped) { $0.state = .dropped })
    #expect(matches(.replayed) { _ in } && !matches(.replayed) { $0.state = .new })
  }

  @Test func aStateAloneSelectsNothing() {
    var filter = LetterFilter()
    filter.state = .new
    filter.includesDropped = true
    #expect(!filter.isSelective)
    filter.since = 0
    #expect(filter.isSelective)
  }
}

@Suite struct LetterTextTests {
  @Test func aBodyIsTextOrDigits() {
    #expect(LetterBody(Array("a".utf8)) == LetterBody(Array("a".utf8), atMost: 1))
    #expect(LetterBody([0xFF, 0x01]).text == "ff01")
    #expect(!LetterBody([0xFF, 0x01]).isText)
    let cut = LetterBody(Array(repeating: 0x61, count: 10), atMost: 4)
    #expect(cut.text == "aaaa" && cut.isCut && cut.isText)
    let digits = LetterBody(Array(repeating: 0xFF, count: 10), atMost: 4)
    #expect(digits.text == "ffff" && digits.isCut)
  }

  @Test func aDifferenceIsByLines() {
    #expect(LineDiff.lines("a\nb\nc\n", "a\nx\nc") == [" a", "-b", "+x", " c"])
    #expect(LineDiff.lines("", "a") == ["+a"])
    #expect(LineDiff.lines("a", "a") == [" a"])
    #expect(LineDiff.lines("\u{E9}", "e\u{301}") == ["-\u{E9}", "+e\u{301}"])
    let long = String(repeating: "a\n", count: 3_000)
    #expect(LineDiff.lines(long, "a").count == 3_001)
  }
}
