import Deliver
import Telemetry

extension Log {
  /// What Deliver tells an operator, in words.
  package func deliver(_ notice: DeliverNotice) {
    switch notice {
    case .connected(let endpoint):
      info("connected to APNs", ["endpoint": .text("\(endpoint)")])
    case .disconnected(let endpoint, let reason, let retryAfter):
      warning(
        "no connection to APNs",
        [
          "endpoint": .text("\(endpoint)"), "reason": .text(reason),
          "retry_after": .text("\(retryAfter)"),
        ])
    case .goingAway(let endpoint, let reason):
      self.notice(
        "APNs takes no more pushes on a connection",
        ["endpoint": .text("\(endpoint)"), "reason": .text(reason)])
    case .unanswered(let endpoint, let pushes):
      warning(
        "APNs did not answer in time; sending again",
        ["endpoint": .text("\(endpoint)"), "pushes": .integer(pushes)])
    case .held(let endpoint, let reason, let until):
      error(
        "APNs refuses our credentials, and nothing is sent meanwhile: "
          + "check apns.key_file, key_id and team_id",
        [
          "endpoint": .text("\(endpoint)"), "reason": .text(reason.name), "for": .text("\(until)"),
        ])
    case .configurationRejected(let endpoint, let reason):
      error(
        "APNs rejects what we send: check the template and the app's topic",
        ["endpoint": .text("\(endpoint)"), "reason": .text(reason.name)])
    case .providerTokenFailed(let reason):
      error("no provider token", ["reason": .text(reason)])
    }
  }
}
