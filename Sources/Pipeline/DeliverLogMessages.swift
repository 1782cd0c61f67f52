import Deliver
import Model
import Telemetry
import Text

extension Log {
  /// Logs a notice of Deliver for an operator.
  /// - Parameter unlogged: how often the same was not logged since it was logged last.
  package func deliver(_ notice: DeliverNotice, unlogged: Int = 0) {
    switch notice {
    case .connected(let server): info("connected to \(server.title)", Self.fields(server))
    case .disconnected(let server, let reason, let retryAfter):
      warning("no connection to \(server.title)", Self.fields(server, reason, retryAfter))
    case .goingAway(let server, let reason, let retryAfter):
      self.notice(
        "\(server.title) takes no more pushes on a connection; another takes its place",
        Self.fields(server, reason, retryAfter))
    case .retired(let server, let reason, let retryAfter):
      self.notice(
        "another connection to \(server.title) takes the place of one",
        Self.fields(server, reason, retryAfter))
    case .resized(let server, let connections):
      info(
        "a lane has another number of connections to \(server.title), by what is sent",
        Self.fields(server, ["connections": .integer(connections)]))
    case .unanswered(let server, let pushes):
      warning(
        "\(server.title) did not answer in time; sending again",
        Self.fields(server, ["pushes": .integer(pushes)]))
    case .lost(let server, let pushes, let reason):
      warning(
        "a connection to \(server.title) ended with pushes in flight; sending them again",
        Self.fields(server, ["pushes": .integer(pushes), "reason": .text(reason)]))
    case .refusedLate(let endpoint, let pushes):
      error(
        "the gateway did not take pushes that were counted as accepted: raise "
          + "apns.binary_accepted_after",
        ["endpoint": .text("\(endpoint)"), "pushes": .integer(pushes)])
    case .configurationRejected(let server, let reason):
      error(
        "\(server.title) rejects what we send: check \(Self.contents(server.destination))",
        Self.fields(
          server, ["reason": .text(reason.name), "unlogged": .integer(unlogged)]))
    case .unknownAnswer(let server, let answer):
      warning(
        Self.message(of: answer, server.destination),
        Self.fields(
          server,
          [
            "status": .integer(answer.status), "reason": .text(answer.reason),
            "unlogged": .integer(unlogged),
          ]))
    case .obstacleBegan(let obstacle): error(Self.message(of: obstacle), Self.fields(of: obstacle))
    case .obstacleEnded(let obstacle):
      info("pushes can be sent again", Self.fields(of: obstacle))
    }
  }

  // MARK: words by platform

  /// The origin of what a server rejects.
  private static func contents(_ destination: Destination) -> String {
    switch destination.platform {
    case .apns: "the template and the app's topic"
    case .webpush: "the template, and whether endpoints of this host are bound that are none"
    default: "the template"
    }
  }

  /// The settings that credentials come from.
  private static func settings(_ destination: Destination) -> String {
    switch destination.platform {
    case .apns: "apns.key_file, key_id and team_id, or apns.certificate_file, and the app's topic"
    case .fcm: "the service account or the other source of tokens in fcm, and the project"
    case .webpush: "webpush.vapid_key_file and webpush.subject"
    default: "the settings of \(destination.platform.name)"
    }
  }

  /// APNs and FCM have a reason in each of their answers; push services of browsers need none.
  private static func message(of answer: UnknownAnswer, _ destination: Destination) -> String {
    let title = destination.platform.title
    return answer.reason.isEmpty && destination.platform != .webpush
      ? "an answer without a reason of \(title): a proxy on the way answers, and not \(title)"
      : "\(title) gives an answer that is not documented; its status decides"
  }

  private static func message(of obstacle: RouteObstacle) -> String {
    let platform = obstacle.destination.platform
    let title = platform.title
    let these = platform == .webpush ? "to this push service" : "of this environment"
    return switch obstacle.kind {
    case .unreachable:
      "\(title) cannot be reached; pushes \(these) wait, all others go on"
    case .credentialsRefused:
      "\(title) refuses our credentials, and pushes of this topic wait: "
        + "check \(settings(obstacle.destination))"
    case .slow:
      "\(title) takes pushes \(these) slowly; what is too much waits, all others go on"
    case .clocksDiffer:
      "\(title) says that credentials have expired which are minutes old, and pushes of this topic "
        + "wait: check this machine's clock"
    case .noToken:
      "there are no credentials for \(title), and nothing is sent: "
        + "check \(settings(obstacle.destination))"
    case .certificateExpired:
      "the certificate for \(title) has expired, and nothing is sent: put another in its place"
    }
  }

  // MARK: fields

  private static func fields(_ server: PushServer, _ more: LogFields = [:]) -> LogFields {
    let fields: LogFields = ["endpoint": .text("\(server.endpoint)")]
    return fields.merging(more)
  }

  private static func fields(
    _ server: PushServer, _ reason: String, _ retryAfter: Duration
  ) -> LogFields {
    fields(
      server, ["reason": .text(reason), "retry_after": .text(DurationText.text(retryAfter))])
  }

  /// `credentials` names the push service, where the platform has many.
  private static func fields(of obstacle: RouteObstacle) -> LogFields {
    let fields: LogFields = [
      "environment": .text(obstacle.destination.name),
      "topic": .text(obstacle.topic ?? "every topic"), "reason": .text(obstacle.reason),
    ]
    guard let credentials = obstacle.credentials else { return fields }
    return fields.merging(["credentials": .text(credentials)])
  }
}

extension PushServer {
  fileprivate var title: String { destination.platform.title }
}
