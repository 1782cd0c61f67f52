/// A line that librdkafka wants to have logged.
package struct KafkaLogLine: Sendable, Equatable {
  package enum Level: Sendable, Equatable, CaseIterable {
    case error, warning, notice, info, debug

    /// From syslog's numbers, 0 (emergency) … 7 (debug).
    init(syslog: Int32) {
      switch syslog {
      case ...3: self = .error
      case 4: self = .warning
      case 5: self = .notice
      case 6: self = .info
      default: self = .debug
      }
    }
  }

  package let level: Level
  /// librdkafka's word for the part that speaks: `FAIL`, `REBALANCE`, `MAXPOLL`, …
  package let facility: String
  package let message: String
}
