import Assembly
import Kafka
import Model
import Processes
import Record
import Render
import ServerProcesses
import Telemetry
import TestBed
import Testing

/// What becomes of single records: good, bad, stale and repeated.
@Suite(.serialized) struct EventFateTests {
  @Test func handlesEachKindOfEventAndLetsNoneDisturbAnother() async throws {
    let bed = try await WorkerBed()
    try await bed.follow("s1", tokens: tokens(20))
    try await bed.redis.set(["SADD", "followers:plain1", "s1-u0", "s1-u1"])
    let worker = try await bed.startWorker { $0.expand.plainSetKey = "followers:{streamer}" }

    try await bed.emit(raw: Array("{\"id\":".utf8), key: "s1")
    try await bed.emit(raw: nil, key: "s1")
    try await bed.emit(raw: [UInt8](repeating: 0x20, count: 70_000), key: "s1")
    try await bed.emit("bad-template", template: "no-such-template")
    try await bed.emit("stale", expiresIn: 1, occurredAt: WallClock.nowMilliseconds() - 5_000)
    try await bed.emit("nobody", streamer: "unknown")
    try await bed.emit("plain", streamer: "plain1")
    try await bed.emit("good")
    let good = try await bed.finished("good")
    #expect(good.accepted == 20 && good.isBalanced)
    #expect(try await bed.finished("stale").state == .expired)
    let nobody = try await bed.finished("nobody")
    #expect(nobody.pushes == 0 && nobody.segments == 0)
    for what in ["fan-out started", "fan-out done"] {
      let lines = bed.sink.lines.filter { $0.contains(what) && $0.contains("\"nobody\"") }
      #expect(lines.count == 1, "\(what)")
      #expect(lines.allSatisfy { what == "fan-out started" || $0.contains("\"pushes\":0") })
    }
    #expect(try await bed.finished("plain").accepted == 2)

    // The same id once more, in a record of its own: counted and dropped.
    try await bed.emit("good")
    try await bed.emit("after")
    _ = try await bed.finished("after")
    let total = try await bed.until("the duplicate is counted") {
      let total = try bed.redis.cli("HGET", "ff:{stats}:total", "events_duplicate")
      return total == "1" ? total : nil
    }
    #expect(total == "1")
    #expect(await bed.simulator.summary().accepted == 42)
    #expect(await worker.stop())

    let letters = try deadLetters(bed, count: 4)
    let codes = letters.map { letter in
      letter.headers.first { $0.name == "fanfare-error-code" }?.value.map {
        String(decoding: $0, as: UTF8.self)
      }
    }
    #expect(Set(codes) == ["not_json", "tombstone", "too_large", "unknown_template"])
    let broken = letters.first { $0.value == Array("{\"id\":".utf8) }
    #expect(broken?.headers.contains { $0.name == "fanfare-source" } == true)
    #expect(broken?.key == Array("s1".utf8))
  }

  private func tokens(_ count: Int) -> [String] {
    (0..<count).map { index in
      let digits = String(index, radix: 16)
      return String(repeating: "a", count: 64 - digits.count) + digits
    }
  }

  private func deadLetters(_ bed: WorkerBed, count: Int) throws -> [KafkaMessage] {
    var options = KafkaOptions(bootstrapServers: bed.bootstrapServers)
    options.group = "reader"
    let consumer = try KafkaConsumer(options, topics: ["notify-followers.dead-letters"]) { _ in }
    try consumer.subscribe()
    var letters: [KafkaMessage] = []
    var failures: [KafkaError] = []
    for _ in 0..<600 where letters.count < count {
      switch consumer.poll(timeout: .milliseconds(100)) {
      case .message(let message): letters.append(message)
      case .error(let error): failures.append(error)
      default: break
      }
    }
    consumer.close(timeout: .seconds(2))
    guard letters.count >= count else {
      throw LocalRunError(.failed, "\(letters.count) of \(count) dead letters came: \(failures)")
    }
    return letters
  }
}

extension RedisServerProcess {
  func set(_ command: [String]) async throws { _ = try cli(command) }
}
