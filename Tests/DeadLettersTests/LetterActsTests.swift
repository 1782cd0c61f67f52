import Fixtures
import Ingest
import Kafka
import Keyspace
import Redis
import Testing
import Threads

@testable import DeadLetters

/// Lists, replays and drops against the embedded broker and a real Redis.
@Suite struct LetterActsTests {
  private static let name = "notify-followers.dead-letters"
  private let redis: RedisFixture
  private let broker: EmbeddedBroker
  private let producer: KafkaProducer
  private let topic: LetterTopic

  init() async throws {
    redis = try RedisFixture()
    broker = try EmbeddedBroker(topics: [("notify-followers", 2), (Self.name, 2)])
    var options = KafkaOptions(bootstrapServers: broker.bootstrapServers)
    options.fetchWaitMaximum = .milliseconds(10)
    producer = try KafkaProducer(options) { _ in }
    topic = LetterTopic(options, name: Self.name, limits: Self.limits) { _ in }
  }

  private static let limits: LetterTopic.Limits = {
    var limits = LetterTopic.Limits()
    limits.time = .seconds(60)
    return limits
  }()

  private func write(_ letters: [KafkaMessage], partition: Int32 = 0) async throws {
    for letter in letters {
      _ = try await producer.send(
        topic: Self.name, partition: partition, key: letter.key, value: letter.value,
        headers: letter.headers)
    }
  }

  private func acts(
    _ redis: RedisClient, sent: ThreadLock<[LetterCopy]> = ThreadLock([]),
    failing: KafkaError? = nil
  ) -> LetterActs {
    LetterActs(
      topic, judge: LetterJudge(IngestOptions()), marks: marks(redis), now: { Samples.now }
    ) { (record) async throws(KafkaError) in
      if let failing { throw failing }
      sent.withLock { $0.append(record) }
    }
  }

  private func marks(_ redis: RedisClient) -> LetterMarks {
    LetterMarks(redis: redis, keyspace: Keyspace())
  }

  private func ids(_ offsets: Int64...) -> [LetterID] {
    offsets.map { LetterID(partition: 0, offset: $0) }
  }

  // MARK: scans

  @Test func aScanHasTheNewestAndSaysWhichTheyAre() async throws {
    try await write((0..<7).map { Samples.letter(Samples.event("e\($0)")) })
    try await write([Samples.letter(Samples.event("other"))], partition: 1)
    let whole = try await topic.scan()
    #expect(Set(whole.letters.compactMap(\.event)).count == 8)
    #expect(whole.window == "all 8 letters that Kafka keeps")
    var limits = Self.limits
    limits.letters = 3
    let options = KafkaOptions(bootstrapServers: broker.bootstrapServers)
    let part = try await LetterTopic(options, name: Self.name, limits: limits) { _ in }.scan()
    #expect(part.letters.map { "\($0.id)" } == ["1:0", "0:6", "0:5"])
    #expect(part.window.hasPrefix("the newest 3 of 8 letters, since 20"), "\(part.window)")
  }

  @Test func anEmptyTopicHasNoLetters() async throws {
    let scan = try await topic.scan()
    #expect(scan.letters.isEmpty && scan.window == "all 0 letters that Kafka keeps")
  }

  @Test func aMissingTopicIsSaid() async throws {
    let options = KafkaOptions(bootstrapServers: broker.bootstrapServers)
    let missing = LetterTopic(options, name: "missing", limits: Self.limits) { _ in }
    await #expect { try await missing.scan() } throws: { error in
      (error as? KafkaError)?.code == .unknownTopic
    }
  }

  @Test func recordsAreFoundByTheirIDs() async throws {
    try await write((0..<5).map { Samples.letter(Samples.event("e\($0)")) })
    let asked =
      ids(0, 3, 99) + [LetterID(partition: 1, offset: 0), LetterID(partition: 9, offset: 0)]
    let (records, count) = try await topic.records(asked)
    #expect(records.map(\.offset) == [0, 3])
    #expect(count == asked.count)
  }

  // MARK: acts

  @Test func aReplayIsDoneOnce() async throws {
    try await write([
      Samples.letter(Samples.event("e0", expiresIn: 1)), Samples.letter(Samples.event("e1")),
      Samples.letter(Array("{".utf8)),
    ])
    let sent = ThreadLock<[LetterCopy]>([])
    let (dry, first, second, again) = try await redis.run { redis in
      // A second after it occurred, the first event is over.
      let acts = LetterActs(
        topic, judge: LetterJudge(IngestOptions()), marks: marks(redis),
        now: { Samples.now + 2_000 }
      ) { (record) async throws(KafkaError) in sent.withLock { $0.append(record) } }
      let all = ids(0, 1, 1, 2, 7)
      let dry = try await acts.run(.replay, all, isDry: true)
      #expect(sent.withLock { $0.isEmpty })
      let first = try await acts.run(.replay, all, isDry: false)
      let second = try await acts.run(.replay, all, isDry: false)
      let again = try await acts.run(.replay, ids(1), isDry: false, repeats: true)
      return (dry, first, second, again)
    }
    #expect(dry.fits == 1 && dry.expired == 1 && dry.refused == 2 && dry.replayed == 0)
    #expect(first.replayed == 1 && first.skipped == 3 && first.seen == 4)
    #expect(second.replayed == 0 && second.already == 1 && second.skipped == 4)
    #expect(again.replayed == 1)
    #expect(sent.withLock { $0.map(\.value) } == [Samples.event("e1"), Samples.event("e1")])
    let why = first.reasons.map(\.why).joined(separator: "\n")
    #expect(why.contains("not_json") && why.contains("no such letter"), "\(why)")
  }

  @Test func aDroppedLetterIsListedByItsStateAlone() async throws {
    try await write((0..<3).map { Samples.letter(Samples.event("e\($0)")) })
    let topic = topic
    try await redis.run { redis in
      let acts = acts(redis)
      let dry = try await acts.run(.drop, ids(1), isDry: true)
      #expect(dry.fits == 1 && dry.dropped == 0)
      #expect(try await acts.run(.drop, ids(1), isDry: false).dropped == 1)
      #expect(try await acts.run(.drop, ids(1), isDry: false).already == 1)
      #expect(try await acts.run(.replay, ids(1), isDry: false).already == 1)
      let scan = try await topic.scan()
      let usual = try await LetterSearch(scan, LetterFilter(), marks: marks(redis))
      #expect(usual.rows.compactMap(\.letter.event) == ["e2", "e0"])
      var filter = LetterFilter()
      filter.state = .dropped
      let dropped = try await LetterSearch(scan, filter, marks: marks(redis))
      #expect(dropped.rows.map(\.mark) == [LetterMark(state: .dropped, at: Samples.now)])
      #expect(dropped.matched == 1 && dropped.scanned == 3)
    }
  }

  @Test func marksEndByThemselvesAndAreOfOneLetter() async throws {
    try await write([Samples.letter(Samples.event("e0"))])
    let letter = try #require(try await topic.scan().letters.first)
    try await redis.run { redis in
      let marks = marks(redis)
      try await marks.set(.replayed, of: [letter], now: Samples.now)
      #expect(try await marks.marks(of: [letter])[letter.id]?.state == .replayed)
      let key = Keyspace().letterMarks(milliseconds: letter.writtenAt)
      let left = try await redis.ask("TTL", key).flatMap { Int($0) }
      #expect((1...Keyspace.letterMarksLifetimeSeconds).contains(left ?? 0))
      // The topic was created again: the same offset, written at another time.
      _ = try await redis.ask("HSET", key, "\(letter.id)", "replayed \(Samples.now) 1")
      #expect(try await marks.marks(of: [letter]).isEmpty)
    }
  }

  @Test func whoeverStopsAReplayIsToldWhatIsDone() async throws {
    try await write((0..<600).map { Samples.letter(Samples.event("e\($0)")) })
    let report = try await redis.run { redis in
      let all = (0..<600).map { LetterID(partition: 0, offset: $0) }
      return try await acts(redis).run(.drop, all, isDry: false) { $0.seen == 0 }
    }
    #expect(report.isStopped && report.dropped == 500)
  }

  @Test func aRefusalOfKafkaLeavesTheLetterNew() async throws {
    try await write([Samples.letter(Samples.event("e0"))])
    let letters = try await topic.scan().letters
    try await redis.run { redis in
      let away = KafkaError(code: .timedOut, message: "away")
      // On the client's loop, which a closure of `#expect` would leave.
      var failure: String?
      do throws(DeadLettersError) {
        _ = try await acts(redis, failing: away).run(.replay, ids(0), isDry: false)
      } catch {
        failure = "\(error)"
      }
      #expect(failure == "Kafka: away")
      let large = KafkaError(code: .tooLarge, message: "large")
      let report = try await acts(redis, failing: large).run(.replay, ids(0), isDry: false)
      #expect(report.refused == 1 && report.fits == 0 && report.replayed == 0)
      #expect(try await marks(redis).marks(of: letters).isEmpty)
    }
  }

  @Test func aCorrectedCopyIsSentInsteadAndMarked() async throws {
    try await write([Samples.letter(Array("{".utf8))])
    let sent = ThreadLock<[LetterCopy]>([])
    try await redis.run { redis in
      let acts = acts(redis, sent: sent)
      let id = ids(0)[0]
      let wrong = try await acts.correct(id, body: Array("[]".utf8), isDry: false, repeats: false)
      #expect(wrong?.preview.fits == false)
      let dry = try await acts.correct(id, body: Samples.event("e1"), isDry: true, repeats: false)
      #expect(dry?.preview == .fits("event e1") && sent.withLock { $0.isEmpty })
      let done = try await acts.correct(id, body: Samples.event("e1"), isDry: false, repeats: false)
      #expect(done?.letter.value == Array("{".utf8))
      #expect(sent.withLock { $0.map(\.value) } == [Samples.event("e1")])
      // Nor does it go out again with another id.
      let again = try await acts.correct(
        id, body: Samples.event("e2"), isDry: false, repeats: false)
      #expect(again?.preview == .refused("it was replayed before"))
      #expect(sent.withLock { $0.count } == 1)
      #expect(try await acts.run(.replay, [id], isDry: false).already == 1)
      #expect(try await acts.correct(ids(5)[0], body: [], isDry: true, repeats: false) == nil)
    }
  }
}
