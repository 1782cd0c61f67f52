import Kafka
import MemoryKafka
import Record

/// What is written beside pushes and counters: traces, news of tokens, dead letters.
extension Oracle {
  /// A trace has each push once, with the word that the counters have.
  func checkTrace(_ event: EventTruth, _ status: FanOutStatus) {
    guard status.traceOmitted == 0, event.cancelBegins == .max else { return }
    var words: [String: Int] = [:]
    for part in 0..<max(status.segments, 1) {
      let reply = world.ask("HVALS", world.keyspace.trace(event: event.id, part: part))
      guard case .array(let values) = reply else { continue }
      for case .bulk(let value) in values {
        for note in TracedPush.all(value.text) { words[note.word, default: 0] += 1 }
      }
    }
    var expected = status.rejected
    expected["accepted"] = status.accepted
    expected["expired"] = status.expired
    for (word, count) in expected.sorted(by: { $0.key < $1.key })
    where count != words[word] ?? 0 {
      fail("\(event.id) has \(word) \(count), and its trace \(words[word] ?? 0)")
    }
  }

  /// Devices that Apple called gone are told of, and no others.
  func checkNews() {
    guard !plan.losesNotes else { return }
    var told: Set<Int> = []
    for record in records(of: World.newsTopic) {
      guard let value = record.value, let device = Self.device(ofNews: value) else { continue }
      told.insert(device)
    }
    for device in told.sorted() where book.goneSince[device] == nil {
      fail("the removal of device \(device) is told, which Apple takes")
    }
    for device in book.goneSince.keys.sorted() where truth.isStatic(device) {
      guard let user = truth.owner(of: device), let known = devices[device] else { continue }
      let isBound = world.holds(world.keyspace.bindings(user: "u\(user)"), known.member)
      if !isBound, !told.contains(device) {
        fail("device \(device) was removed, and nobody is told")
      }
    }
  }

  private static func device(ofNews value: [UInt8]) -> Int? {
    let mark = Array(#""token":""#.utf8)
    guard let place = value.indices.first(where: { value[$0...].starts(with: mark) }) else {
      return nil
    }
    let token = value[(place + mark.count)...].prefix { $0 != UInt8(ascii: "\"") }
    return WorldDevice.number(in: String(decoding: token, as: UTF8.self))
  }

  /// What is no event is in the dead letters, and nothing else is.
  func checkLetters() {
    var nonsense: Set<String> = []
    for (partition, place, record) in placed(of: world.ingest.eventsTopic)
    where record.value?.first != UInt8(ascii: "{") {
      nonsense.insert("\(partition.topic)/\(partition.partition)/\(place)")
    }
    let letters = Set(
      records(of: world.ingest.deadLettersTopic).map { letter in
        letter.headers.first { $0.name == "fanfare-source" }
          .map { String(decoding: $0.value ?? [], as: UTF8.self) } ?? "nowhere"
      })
    for source in nonsense.subtracting(letters).sorted() {
      fail("\(source) is no event, and not in the dead letters")
    }
    // Kafka may have thrown away what they were.
    guard !plan.losesRecords else { return }
    for source in letters.subtracting(nonsense).sorted() {
      fail("\(source) is in the dead letters, and nothing is wrong with it")
    }
  }

  private func placed(of topic: String) -> [(KafkaPartition, Int64, MemoryRecord)] {
    world.partitions(of: topic).flatMap { partition in
      world.broker.records(of: partition).map { (partition, $0.offset, $0.record) }
    }
  }

  private func records(of topic: String) -> [MemoryRecord] { placed(of: topic).map(\.2) }
}
