import Glibc

/// What librdkafka's statistics, a JSON text, say of its connections. Found by a few searches in
/// it, whatever its size.
enum BrokerStates {
  /// Metadata is asked for every 10 s, and a group hears from its coordinator more often: a broker
  /// that has said nothing for longer does not answer, though its connection still stands.
  static let longestSilence = 15_000_000

  /// Whether any broker is connected and answers; nil when none is known.
  static func anyAnswers(_ statistics: UnsafePointer<CChar>) -> Bool? {
    var isAnyKnown = false
    var rest = statistics
    while let state = value("\"state\":\"", in: rest) {
      isAnyKnown = true
      // `UP`, or `UPDATE` while it learns more of the broker.
      if strncmp(state, "UP", 2) == 0 {
        // Microseconds since anything came from it; -1 when nothing has yet.
        guard let idle = value("\"rxidle\":", in: state) else { return true }
        if strtol(idle, nil, 10) <= longestSilence { return true }
      }
      rest = state
    }
    return isAnyKnown ? false : nil
  }

  private static func value(
    _ name: String, in text: UnsafePointer<CChar>
  ) -> UnsafePointer<CChar>? {
    strstr(text, name).map { UnsafePointer($0) + name.utf8.count }
  }
}
