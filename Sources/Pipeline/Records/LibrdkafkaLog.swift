import Kafka
import Telemetry

extension Log {
  /// A line of librdkafka's.
  func kafka(_ line: KafkaLogLine) {
    let level: LogLevel =
      switch line.level {
      case .error: .error
      case .warning: .warning
      case .notice: .notice
      case .info: .info
      case .debug: .debug
      }
    log(level, "librdkafka: \(line.message)", ["facility": .text(line.facility)])
  }
}
