import Kafka
import Telemetry

/// Whether Kafka can be reached and its client can go on. Confined to the pump's loop.
final class KafkaHealth {
  private let options: PipelineOptions
  /// No broker can be reached.
  private var isAway = false
  private var hasFailed = false
  /// What our user may not, in words, until records or partitions come again.
  private var isForbidden: String?

  init(options: PipelineOptions) { self.options = options }

  /// In words; nil when a broker can be reached and nothing is forbidden.
  var obstacle: String? {
    isAway
      ? "kafka: no broker of \(options.kafka.bootstrapServers) can be reached"
      : isForbidden.map { "kafka: \($0)" }
  }

  /// What Kafka says.
  func hear(_ polled: KafkaPoll) {
    switch polled {
    // Whatever was forbidden is not any more.
    case .message, .assigned: isForbidden = nil
    case .commitFailed(_, let error), .error(let error): check(error)
    case .reachable(let isReachable): reaches(isReachable)
    case .revoking, .revoked, .lost, .committed, .end, .skipped: return
    }
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
    if [.authorization, .unknownTopic].contains(error.code) { isForbidden = "\(error)" }
    guard error.isFatal, !hasFailed else { return }
    hasFailed = true
    options.log.error("the Kafka client cannot go on", ["error": .text("\(error)")])
    options.whenFailed("\(error)")
  }
}
