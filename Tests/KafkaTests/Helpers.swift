import Fixtures
import Glibc
import Kafka
import Testing
import Threads

/// Log lines of clients under test.
final class Lines: Sendable {
  private let lines = ThreadLock<[KafkaLogLine]>([])

  var log: KafkaLog { { line in self.lines.withLock { $0.append(line) } } }
  var all: [KafkaLogLine] { lines.withLock { $0 } }
}

/// Quick to notice that a member is gone. The embedded broker lets a first member wait for three
/// seconds, so a session must be longer than that.
func options(_ bootstrapServers: String, group: String = "g") -> KafkaOptions {
  var options = KafkaOptions(bootstrapServers: bootstrapServers)
  options.group = group
  options.sessionTimeout = .seconds(4)
  options.fetchWaitMaximum = .milliseconds(10)
  options.messageTimeout = .seconds(60)
  return options
}

func silent(_ line: KafkaLogLine) {}

extension KafkaConsumer {
  /// Polls until `isDone` says so of everything polled so far; fails the test after `seconds`.
  @discardableResult
  func collect(
    seconds: Int = 90, sourceLocation: SourceLocation = #_sourceLocation,
    until isDone: ([KafkaPoll]) -> Bool
  ) -> [KafkaPoll] {
    let deadline = ContinuousClock.now + .seconds(seconds)
    var polled: [KafkaPoll] = []
    while !isDone(polled) {
      if ContinuousClock.now > deadline {
        Issue.record("not within \(seconds) s; polled \(polled)", sourceLocation: sourceLocation)
        return polled
      }
      if let next = poll(timeout: .milliseconds(20)) { polled.append(next) }
    }
    return polled
  }

  func collectMessages(
    _ count: Int, sourceLocation: SourceLocation = #_sourceLocation
  ) -> [KafkaMessage] {
    collect(sourceLocation: sourceLocation) { $0.messages.count >= count }.messages
  }
}

extension KafkaConsumer {
  /// Asks until Kafka says so; fails the test otherwise.
  func collectLag(
    _ expected: [KafkaPartition: Int64], sourceLocation: SourceLocation = #_sourceLocation
  ) {
    collect(sourceLocation: sourceLocation) { _ in
      measureLag()
      return lag == expected
    }
  }
}

extension KafkaProducer {
  /// Writes numbered records, one after the other.
  func sendNumbers(_ numbers: Range<Int>, to topic: String, partition: Int32? = nil) async throws {
    for number in numbers {
      _ = try await send(
        topic: topic, partition: partition, key: Array("k\(number)".utf8),
        value: Array("\(number)".utf8))
    }
  }
}
