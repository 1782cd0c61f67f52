import Deliver
import FCM
import SingleRequests

/// The reaction of a worker to an answer.
package enum WorkerReaction: String, Sendable, CaseIterable {
  case accepts = "accepted"
  case rejects = "rejects the push"
  case alerts = "rejects the push, alerts"
  case removes = "removes the token"
  case setsAside = "sets the token aside"
  case retries = "tries again"
  case retriesElsewhere = "tries again, other connection"
  case renews = "renews its credential"
  case holds = "waits, alerts"
  case takesToken = "uses the access token"
  case asksAgain = "asks for a token again"
  case needsHelp = "no token, alerts"

  init(_ disposition: Disposition) {
    switch disposition {
    case .accepted: self = .accepts
    case .reject: self = .rejects
    case .rejectAndAlert: self = .alerts
    case .prune: self = .removes
    case .setAside: self = .setsAside
    case .retry: self = .retries
    case .retryElsewhere: self = .retriesElsewhere
    case .renew: self = .renews
    case .hold: self = .holds
    }
  }

  /// Nil when there was no answer.
  init?(to reply: AppleReply, of account: any PlatformAccount) {
    // On every platform; no account is asked.
    guard reply.status != 200 else {
      self = .accepts
      return
    }
    guard let disposition = reply.disposition(of: account) else { return nil }
    self.init(disposition)
  }

  /// Of Google's token endpoint.
  init?(toTokenReply reply: AppleReply, nowSeconds: Int64) {
    guard let status = reply.status else { return nil }
    let answer = TokenReply.answer(status: status, body: reply.body, retryAfter: nil)
    switch answer.use(now: nowSeconds * 1_000) {
    case .token: self = .takesToken
    case .askAgain: self = .asksAgain
    case .needHelp: self = .needsHelp
    }
  }

  // MARK: what it has to be

  /// - Parameter answer: as a row of FCM's messages has it, with the field that it names.
  static func wanted(toFCM answer: String) -> WorkerReaction? {
    let words = answer.split(separator: " ")
    switch (words.first, words.last) {
    case ("200", _): return .accepts
    case ("400", "message.token"), ("400", "message.fid"): return .setsAside
    case ("400", _): return .alerts
    case (_, "THIRD_PARTY_AUTH_ERROR"): return .holds
    case ("401", _): return .renews
    case (_, "SENDER_ID_MISMATCH"): return .setsAside
    case ("404", "UNREGISTERED"): return .removes
    case ("403", _), ("404", _): return .holds
    case ("429", _), ("500", _), ("502", _), ("503", _): return .retries
    default: return nil
    }
  }

  static func wanted(toTokenEndpoint answer: String) -> WorkerReaction? {
    switch answer {
    case "200": .takesToken
    // Of a server that is not Google's: it may become the right one.
    case "404": .asksAgain
    case _ where answer.hasPrefix("400 "): .needsHelp
    default: nil
    }
  }

  /// - Parameter answer: as a row of the browsers' push services has it.
  static func wanted(toPushService answer: String) -> WorkerReaction? {
    switch answer {
    // Mozilla's word for a fault of its own, whatever the status.
    case _ where answer.hasSuffix(" errno 999"): return .retries
    case "400 UnauthorizedRegistration": return .holds
    default: break
    }
    switch answer.prefix(3) {
    case "201": return .accepts
    case "307", "400", "405": return .alerts
    case "401", "403": return .holds
    case "404", "410": return .removes
    case "413": return .rejects
    case "406", "429", "500", "502", "503": return .retries
    default: return nil
    }
  }
}
