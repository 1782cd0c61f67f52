import Telemetry

/// Metrics of the sending to one platform: gauges, and counters since the lane began.
package struct PlatformFigures: Sendable {
  /// Streams in flight.
  package var inFlight = 0
  package var openConnections = 0
  /// Streams that may be in flight on those.
  package var streamLimit = 0
  /// From sending a push to its answer.
  package var answerTimes = Histogram.answerTimes
  /// Of a platform with many servers: those that no connection has been open to, and that are
  /// tried now.
  package var serversOnTrial = 0
  /// Pushes for servers that may not be tried now; they left their segments.
  package var turnedAway = 0
  package var connectionCounts = ConnectionCounts()
  package var answerCounts = AnswerCounts()
  package var unknownAnswers = BoundedCounts(others: UnknownAnswer.others, [.others: 0])

  package init() {}

  package mutating func add(_ more: PlatformFigures) {
    inFlight += more.inFlight
    openConnections += more.openConnections
    streamLimit += more.streamLimit
    serversOnTrial += more.serversOnTrial
    turnedAway += more.turnedAway
    answerTimes = answerTimes + more.answerTimes
    connectionCounts.add(more.connectionCounts)
    answerCounts.add(more.answerCounts)
    unknownAnswers.add(more.unknownAnswers)
  }
}
