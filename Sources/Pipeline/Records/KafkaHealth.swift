import Kafka
import Telemetry

/// Whether Kafka can be reached and its client can go on. Confined to the pump's loop.
final class KafkaHealth {
  private let options: PipelineOptions
  /// No broker can be reached.
  private var isAway = false
  private var hasFailed = false

  init(options: PipelineOptions) { self.options = options }

  /// In words; nil when a broker can be reached.
  var obstacle: String? {
    isAway ? "kafka: no broker of \(options.kafka.bootstrapServers) can be reached" : nil
  }

  /// Nothing comes in and nothing is committed meanwhile; whoever sends waits for himself.
  func reaches(_ isReachable: Bool) {
    let waited = isAway
    isAway = !isReachable
    if isAway {
      options.log.warning(
        "waiting for Kafka: no broker can be reached",
        ["servers": .text(options.kafka.bootstrapServers)])
    } else if waited {
      options.log.notice("Kafka can be reached again")
    }
  }

  /// A client that is beyond repair consumes nothing and says nothing more: the process ends, and
  /// whoever runs it starts another.
  func check(_ error: KafkaError) {
    guard error.isFatal, !hasFailed else { return }
    hasFailed = true
    options.log.error("the Kafka client cannot go on", ["error": .text("\(error)")])
    options.whenFailed("\(error)")
  }
}
