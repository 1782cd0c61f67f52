import Kafka
import Terminal
import Threads

/// Writes events to Kafka, one after the other, and says where each of them is.
package struct EventSender {
  private let options: KafkaOptions
  private let topic: String
  private let timeout: Duration

  package init(_ options: KafkaOptions, topic: String, timeout: Duration) {
    var options = options
    options.messageTimeout = timeout
    // One after the other: waiting for company would only cost time.
    options.linger = .zero
    self.options = options
    self.topic = topic
    self.timeout = timeout
  }

  /// - Parameter acknowledged: called for each event as soon as Kafka has it.
  package func send(
    _ events: [ReadEvent], acknowledged: (ReadEvent, KafkaDelivery) -> Void
  ) async throws(CommandFailure) {
    let words = KafkaWords()
    do {
      // Says why nobody answers; a record that is not acknowledged says only that.
      _ = try KafkaAdmin(options, log: words.take).metadata(topics: [topic], timeout: timeout)
      let producer = try KafkaProducer(options, log: words.take)
      defer { producer.close(timeout: .seconds(1)) }
      for event in events {
        let delivery = try await producer.send(
          topic: topic, key: Array(event.streamer.utf8), value: event.document)
        acknowledged(event, delivery)
      }
    } catch {
      let hint = error.code == .timedOut ? words.last.map { "; librdkafka: \($0)" } : nil
      throw CommandFailure(Self.code(of: error), error.description + (hint ?? ""))
    }
  }

  /// Returns `unavailable` if the caller may wait and try again, `config` if a setting must change.
  static func code(of error: KafkaError) -> ExitCode {
    switch error.code {
    case .configuration, .authentication, .authorization: .config
    case .tooLarge, .unsupported: .failed
    case .unreachable, .unknownTopic, .timedOut, .rebalanced, .fatal, .closed, .other: .unavailable
    }
  }
}

/// librdkafka's last complaint, for the case that nothing else explains a failure.
private final class KafkaWords: Sendable {
  private let text = ThreadLock<String?>(nil)

  var last: String? { text.withLock { $0 } }

  var take: KafkaLog {
    { line in
      guard line.level == .error || line.level == .warning else { return }
      self.text.withLock { $0 = line.message }
    }
  }
}
