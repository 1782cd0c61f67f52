import Devices
import EventLoop
import Ingest
import Kafka
import Model

/// Tells whoever keeps devices too of those that another user has logged in with.
struct TokenNewsDoor: Sendable {
  private let writer: KafkaWriter
  private let now: @Sendable () -> Int64

  init(_ options: APIOptions, topic: String, loop: EventLoop) {
    writer = KafkaWriter(options, topic: topic, loop: loop)
    now = options.wallClock
  }

  func start() async { await writer.start() }
  func close() async { await writer.close() }

  /// Why nobody could be told now, in words.
  var trouble: String? { get async { await writer.trouble } }

  /// Returns when every replica in sync has all of it.
  func tell(_ moves: [DeviceMove]) async throws(DevicesError) {
    for move in moves {
      let (key, value) = TokenNewsRecord.encode(
        TokenNews(.moved(to: move.to), user: move.from, move.binding, at: now()))
      do throws(KafkaError) {
        _ = try await writer.send(key: key, value)
      } catch {
        throw DevicesError(
          .untold, "the device is bound, and Kafka takes no news of its former user: \(error)")
      }
    }
  }
}
