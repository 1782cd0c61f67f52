import Ingest
import JSON
import Kafka
import Model
import Testing

@Suite struct StragglerRecordTests {
  private static let topic = "notify-followers.stragglers"

  private func event() throws -> Event { try #require(decode(sampleText).event) }

  private func parent() throws -> Segment {
    Segment(event: try event(), slice: .shard(index: 3, generation: 7), count: 64)
  }

  private func push(_ number: Int, _ history: PushHistory = PushHistory()) -> Straggler {
    Straggler(user: "u\(number)", member: "apns:production:a.b:\(number)", history: history)
  }

  private func decoded(_ value: [UInt8]) -> IngestResult {
    decode(message(value, topic: Self.topic))
  }

  /// A record whose part about stragglers is `members`.
  private func decoded(_ members: String) -> IngestResult {
    decoded(Array("{\"event\":\(sampleText),\"segments\":64,\(members)}".utf8))
  }

  private static let tooLong = String(repeating: "a", count: Binding.maximumMemberBytes + 1)

  @Test func pushesComeBackWithTheirHistories() throws {
    let pushes = [
      push(1), push(2, PushHistory(tries: 9, losses: 2, refusals: 1, mayHaveArrived: true)),
      push(3, PushHistory(tries: .max, losses: .max, refusals: .max, mayHaveArrived: false)),
      push(
        4,
        PushHistory(tries: 7, losses: 0, refusals: 0, mayHaveArrived: false, suspicion: 270)),
      Straggler(
        user: "\"\\é👩‍👩‍👧 ", member: "apns:sandbox:a.b:ff",
        history: PushHistory(tries: 0, losses: 1, refusals: 0, mayHaveArrived: true)),
    ]
    let segment = try parent().straggling(pushes, number: 0xBEEF)
    let (key, value) = SegmentRecord.encode(segment)
    #expect(String(decoding: key, as: UTF8.self) == "live-8f2c/7.3~000000000000beef")
    let back = try #require(decoded(value).segment)
    let list = try #require(back.stragglers)
    #expect(list == segment.stragglers && list.parent == "7.3" && list.pushes == pushes)
    #expect(back.id == "7.3~000000000000beef" && back.count == 64)
    #expect(back.event.id == "live-8f2c" && back.event.expiresAt == segment.event.expiresAt)
  }

  @Test func stragglersOfStragglersNameTheListThatTheyLeft() throws {
    let first = try parent().straggling([push(1)], number: 1)
    let second = first.straggling([push(1)], number: .max)
    let back = try #require(decoded(SegmentRecord.encode(second).value).segment)
    #expect(back.id == "7.3~ffffffffffffffff")
    #expect(back.stragglers?.parent == "7.3~0000000000000001")
  }

  @Test func listsFitTheirRecordsAndLoseNothing() throws {
    #expect(StragglerRecord.lists([]) == [])
    #expect(StragglerRecord.lists([push(1)]) == [[push(1)]])
    let short = (0..<1025).map { push($0) }
    #expect(StragglerRecord.lists(short).map(\.count) == [512, 512, 1])
    // The longest names, of characters that take two bytes each in JSON.
    let member =
      "apns:production:" + String(repeating: "a", count: Binding.maximumTopicBytes) + ":"
      + String(repeating: "0", count: Platform.apns.tokens.maximumBytes)
    let long = (0..<300).map { number in
      let digits = String(number)
      return Straggler(
        user: String(repeating: "\"", count: 128 - digits.count) + digits, member: member,
        history: PushHistory(
          tries: .max, losses: .max, refusals: .max, mayHaveArrived: false, suspicion: .max))
    }
    for pushes in [short, long] {
      let lists = StragglerRecord.lists(pushes)
      #expect(lists.flatMap { $0 } == pushes)
      for list in lists {
        let value = SegmentRecord.encode(try parent().straggling(list, number: 5)).value
        #expect(value.count <= IngestOptions.stragglerBytes + sampleText.utf8.count + 256)
        #expect(try #require(decoded(value).segment).stragglers?.pushes == list)
      }
    }
    #expect(StragglerRecord.lists(long).count > 1)
  }

  private static let good = #"["u1","apns:production:a.b:1",1,0,0,false]"#
  private static func named(_ pushes: String) -> String {
    #""id":"7.3~01","parent":"7.3","stragglers":\#(pushes)"#
  }

  @Test(arguments: [
    // Missing, of another type, empty, without the mark, too long.
    #""parent":"7.3","stragglers":[\#(good)]"#, #""id":"7.3~01","stragglers":[\#(good)]"#,
    #""id":7,"parent":"7.3","stragglers":[\#(good)]"#,
    #""id":"7.3~01","parent":null,"stragglers":[\#(good)]"#,
    #""id":"","parent":"7.3","stragglers":[\#(good)]"#,
    #""id":"7.3","parent":"7.3","stragglers":[\#(good)]"#,
    #""id":"7.3~01","parent":"","stragglers":[\#(good)]"#,
    #""id":"7.3~\#(String(repeating: "0", count: 125))","parent":"7.3","stragglers":[\#(good)]"#,
    #""id":"7.3~01","parent":"\#(String(repeating: "7", count: 129))","stragglers":[\#(good)]"#,
    named("[]"), named("null"), named("{}"), named(#""u1""#), named("[\(good),null]"),
    named("[" + Array(repeating: good, count: 513).joined(separator: ",") + "]"),
    // Pushes.
    named(#"[["u1","apns:production:a.b:1",1,0,0]]"#),
    named(#"[["u1","apns:production:a.b:1",1,0,0,false,0,0]]"#),
    named(#"[["u1","apns:production:a.b:1",1,0,0,false,"0"]]"#),
    named(#"[["u1","apns:production:a.b:1",1,0,0,false,-1]]"#),
    named(#"[[7,"apns:production:a.b:1",1,0,0,false]]"#),
    named(#"[["","apns:production:a.b:1",1,0,0,false]]"#),
    named(#"[["a\u0000b","apns:production:a.b:1",1,0,0,false]]"#),
    named(#"[["u1",null,1,0,0,false]]"#), named(#"[["u1","a b",1,0,0,false]]"#),
    named(#"[["u1","é",1,0,0,false]]"#),
    named(#"[["u1","\#(tooLong)",1,0,0,false]]"#),
    named(#"[["u1","apns:production:a.b:1",-1,0,0,false]]"#),
    named(#"[["u1","apns:production:a.b:1",1,-1,0,false]]"#),
    named(#"[["u1","apns:production:a.b:1",1,0,-1,false]]"#),
    named(#"[["u1","apns:production:a.b:1",1.5,0,0,false]]"#),
    named(#"[["u1","apns:production:a.b:1",1,0,0,0]]"#),
    named(#"[["u1","apns:production:a.b:1",1,0,0,"false"]]"#),
    // One or the other.
    named("[\(good)]") + #","plain":"k""#, named("[\(good)]") + #","shard":0"#,
    named("[\(good)]") + #","generation":0"#,
  ])
  func whatIsNoListIsRefused(_ members: String) {
    let error = decoded(members).error?.code
    // A NUL is refused before anybody looks at the members.
    #expect(error == (members.contains("u0000") ? .notJSON : .badSegment), "\(members.prefix(90))")
  }

  @Test func theBoundsAreInside() throws {
    #expect(decoded(Self.named("[\(Self.good)]")).segment?.stragglers?.pushes.count == 1)
    let most = "[" + Array(repeating: Self.good, count: 512).joined(separator: ",") + "]"
    #expect(decoded(Self.named(most)).segment?.stragglers?.pushes.count == 512)
    let huge = #"[["u1","m",9223372036854775807,9999,9999,true,99999]]"#
    let history = decoded(Self.named(huge)).segment?.stragglers?.pushes.first?.history
    #expect(
      history
        == PushHistory(
          tries: .max, losses: .max, refusals: .max, mayHaveArrived: true, suspicion: .max))
  }

  /// What a closed route keeps waiting keeps nothing of another.
  @Test func aListHasOneRoute() {
    let pushes = (0..<700).map { number in
      Straggler(
        user: "u\(number)",
        member: "apns:\(number % 2 == 0 ? "sandbox" : "production"):apns.sandbox:\(number)",
        history: PushHistory())
    }
    let lists = StragglerRecord.lists(pushes)
    #expect(lists.map(\.count) == [350, 350])
    #expect(lists.flatMap { $0 }.count { pushes.contains($0) } == 700)
    #expect(lists[0].allSatisfy { $0.destination == .production })
    #expect(lists[1].allSatisfy { $0.destination == .sandbox })
  }

  /// What Apple wants to be asked about later keeps nothing else waiting, nor what is due sooner.
  @Test func aListIsDueTogether() {
    let times: [Int64] = [0, 90_000, 10_000, 0, 15_000, 15_001, 0, 12_000]
    let pushes = times.enumerated().map { number, time in
      Straggler(
        user: "u\(number)", member: "apns:production:a.b:\(number)", history: PushHistory(),
        askAgainAt: time)
    }
    let lists = StragglerRecord.lists(pushes).map { StragglerList(id: "", parent: "", pushes: $0) }
    let dues = lists.map { $0.pushes.map(\.askAgainAt) }
    #expect(dues == [[0, 0, 0], [10_000, 12_000, 15_000], [15_001], [90_000]])
    #expect(lists.map(\.askAgainAt) == [0, 15_000, 15_001, 90_000])
  }
}
