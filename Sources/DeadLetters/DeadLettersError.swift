import Kafka
import Redis

/// Why dead letters could not be read, replayed or noted.
package enum DeadLettersError: Error, Sendable, CustomStringConvertible {
  case kafka(KafkaError)
  case redis(RedisError)
  /// Too many searches wait for their turn.
  case busy

  package var description: String {
    switch self {
    case .kafka(let error): "Kafka: \(error)"
    case .redis(let error): "Redis: \(error)"
    case .busy: "many searches of dead letters are under way: ask again"
    }
  }
}
