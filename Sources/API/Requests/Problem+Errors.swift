import Devices
import Kafka
import Record
import Redis

extension Problem {
  private static let soon = ["Retry-After": "1"]

  init(_ error: DevicesError) {
    switch error.code {
    case .invalid: self.init(.invalid, error.message)
    case .tooLarge: self.init(.tooLarge, error.message)
    case .conflict: self.init(.conflict, error.message, headers: Self.soon)
    case .overtaken: self.init(.conflict, error.message)
    case .badContent: self.init(.internalError, error.message)
    case .untold: self.init(.unavailable, error.message, headers: Self.soon)
    case .redis(let code): self = Self.ofRedis(code, error.message)
    }
  }

  init(_ error: RecordError) {
    switch error.code {
    case .redis(let code): self = Self.ofRedis(code, error.message)
    case .tooLarge: self.init(.tooLarge, error.message)
    case .badContent, .clocksDisagree: self.init(.internalError, error.message)
    }
  }

  init(_ error: RedisError) { self = Self.ofRedis(error.code, error.message) }

  init(_ refusal: GivenRefusal) {
    self.init(.invalid, "\(refusal.name) must be \(refusal.rule)\(refusal.hint)")
  }

  /// What was asked may have been done all the same: everything here may be asked again.
  private static func ofRedis(_ code: RedisError.Code, _ message: String) -> Problem {
    code.mayBeAskedAgain
      ? Problem(.unavailable, "Redis: \(message)", headers: soon)
      : Problem(.internalError, "Redis: \(message)")
  }

  init(_ error: KafkaError) {
    self =
      switch error.code {
      case .tooLarge: Problem(.tooLarge, "Kafka takes no record of this size")
      case .configuration, .authentication, .authorization, .unsupported, .other:
        Problem(.internalError, "Kafka: \(error.message)")
      case .unreachable, .unknownTopic, .timedOut, .rebalanced, .fatal, .closed:
        Problem(.unavailable, "Kafka: \(error.message)", headers: Self.soon)
      }
  }
}
