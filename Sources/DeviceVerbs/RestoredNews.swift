import Devices
import Ingest
import Kafka
import Model

/// Tells whoever keeps devices too of those that are given back.
struct RestoredNews: Sendable {
  private let producer: KafkaProducer
  private let topic: String
  private let now: @Sendable () -> Int64

  /// Somebody waits for the command.
  private static let acknowledgedWithin: Duration = .seconds(10)

  init(
    _ kafka: KafkaOptions, topic: String, now: @escaping @Sendable () -> Int64
  ) throws(KafkaError) {
    self.now = now
    var options = kafka
    options.messageTimeout = Self.acknowledgedWithin
    producer = try KafkaProducer(options) { _ in }
    self.topic = topic
  }

  /// For whoever gives them back.
  var restoration: DeviceRestoration.Tell {
    { (devices) async throws(DevicesError) in try await tell(devices) }
  }

  /// Returns when every replica in sync has all of it.
  func tell(_ devices: [QuarantinedDevice]) async throws(DevicesError) {
    let at = now()
    for device in devices {
      let news = TokenNews(
        .restored, user: device.user, device.binding, reason: device.reason, at: at)
      let (key, value) = TokenNewsRecord.encode(news)
      do throws(KafkaError) {
        _ = try await producer.send(topic: topic, key: key, value: value, headers: [])
      } catch {
        throw DevicesError(
          .untold, "Kafka takes no news of devices that are given back, so none more is: \(error)")
      }
    }
  }
}
