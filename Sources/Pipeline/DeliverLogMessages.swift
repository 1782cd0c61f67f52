import Deliver
import Telemetry
import Text

extension Log {
  /// Logs a notice of Deliver for an operator.
  package func deliver(_ notice: DeliverNotice) {
    switch notice {
    case .connected(let endpoint):
      info("connected to APNs", ["endpoint": .text("\(endpoint)")])
    case .disconnected(let endpoint, let reason, let retryAfter):
      warning("no connection to APNs", Self.fields(endpoint, reason, retryAfter))
    case .goingAway(let endpoint, let reason, let retryAfter):
      self.notice(
        "APNs takes no more pushes on a connection; another takes its place",
        Self.fields(endpoint, reason, retryAfter))
    case .retired(let endpoint, let reason, let retryAfter):
      self.notice(
        "another connection to APNs takes the place of one",
        Self.fields(endpoint, reason, retryAfter))
    case .resized(let endpoint, let connections):
      info(
        "a lane has another number of connections to APNs, by what is sent",
        ["endpoint": .text("\(endpoint)"), "connections": .integer(connections)])
    case .unanswered(let endpoint, let pushes):
      warning(
        "APNs did not answer in time; sending again",
        ["endpoint": .text("\(endpoint)"), "pushes": .integer(pushes)])
    case .lost(let endpoint, let pushes, let reason):
      warning(
        "a connection to APNs ended with pushes in flight; sending them again",
        [
          "endpoint": .text("\(endpoint)"), "pushes": .integer(pushes), "reason": .text(reason),
        ])
    case .refusedLate(let endpoint, let pushes):
      error(
        "the gateway did not take pushes that were counted as accepted: raise "
          + "apns.binary_accepted_after",
        ["endpoint": .text("\(endpoint)"), "pushes": .integer(pushes)])
    case .configurationRejected(let endpoint, let reason):
      error(
        "APNs rejects what we send: check the template and the app's topic",
        ["endpoint": .text("\(endpoint)"), "reason": .text(reason.name)])
    case .unknownAnswer(let endpoint, let answer):
      warning(
        answer.reason.isEmpty
          ? "an answer without a reason of Apple's: a proxy on the way answers, and not APNs"
          : "APNs gives an answer that it does not document; its status decides",
        [
          "endpoint": .text("\(endpoint)"), "status": .integer(answer.status),
          "reason": .text(answer.reason),
        ])
    case .obstacleBegan(let obstacle): error(Self.message(of: obstacle), Self.fields(of: obstacle))
    case .obstacleEnded(let obstacle):
      info("pushes can be sent again", Self.fields(of: obstacle))
    }
  }

  private static func message(of obstacle: RouteObstacle) -> String {
    switch obstacle.kind {
    case .unreachable:
      "APNs cannot be reached; pushes of this environment wait, all others go on"
    case .credentialsRefused:
      "APNs refuses our credentials, and pushes of this topic wait: "
        + "check apns.key_file, key_id and team_id, or apns.certificate_file, and the app's topic"
    case .slow:
      "APNs takes pushes of this environment slowly; what is too much waits, all others go on"
    case .clocksDiffer:
      "APNs says that a provider token has expired which is minutes old, and pushes of this topic "
        + "wait: check this machine's clock"
    case .noToken: "no provider token, and nothing is sent: check apns.key_file"
    case .certificateExpired:
      "the certificate for APNs has expired, and nothing is sent: put another in its place"
    }
  }

  private static func fields(
    _ endpoint: some CustomStringConvertible, _ reason: String, _ retryAfter: Duration
  ) -> LogFields {
    [
      "endpoint": .text("\(endpoint)"), "reason": .text(reason),
      "retry_after": .text(DurationText.text(retryAfter)),
    ]
  }

  private static func fields(of obstacle: RouteObstacle) -> LogFields {
    [
      "environment": .text(obstacle.destination.name),
      "topic": .text(obstacle.topic ?? "every topic"), "reason": .text(obstacle.reason),
    ]
  }
}
