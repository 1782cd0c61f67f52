import Model
import Record
import Text

/// The texts for people: the outcome, and the advice. One place for both, so that the API and the
/// verb say the same.
enum TraceWords {
  /// - Parameter service: the push service that the device is of, as "Apple" or "FCM".
  static func of(_ note: TracedPush, by service: String) -> Finding {
    switch note.word {
    case "accepted":
      return Finding(
        .accepted, "\(service) accepted the push",
        next: "\(service) does not say whether the device showed it: look at the device's "
          + "notification settings"
          + (service == Platform.apns.owner ? " and focus, and give Apple the apns-id" : ""))
    case "waiting": return waiting(sends: note.sends)
    case "expired":
      return Finding(
        .expired, "the event expired before \(service) took the push",
        next: "look at what held the event up (fanfare fanout status), or let such events live "
          + "longer (expires_in)")
    case "cancelled":
      return Finding(
        .cancelled,
        "the push was cancelled before it was sent: the fan-out was stopped, or while the push "
          + "waited the device was unbound, or its owner muted the streamer")
    case "skipped":
      return skipped("Redis held something else under the user's keys than it should")
    default:
      if let rule = SuppressionRule.allCases.first(where: { $0.name == note.word }) {
        return suppressed(rule)
      }
      return RejectionWords(service: service).of(note.word)
    }
  }

  private static func waiting(sends: Int) -> Finding {
    Finding(
      .waiting,
      "the push waits for another try" + (sends > 0 ? "; it was sent \(times(sends))" : ""),
      next: "nothing: it is tried until the event expires; fanfare fanout status says what is in "
        + "its way")
  }

  private static func times(_ number: Int) -> String { number == 1 ? "once" : "\(number) times" }

  static func suppressed(_ rule: SuppressionRule) -> Finding {
    let (why, next) =
      switch rule {
      case .muted:
        (
          "the user had muted everything, or this streamer",
          "nothing, if the user wants it so; muted and muted_streamers of the profile say it"
        )
      case .quiet:
        (
          "it was one of the user's quiet hours",
          "nothing, if the user wants it so; quiet and tz of the profile say when"
        )
      case .cap:
        (
          "the user had had as many events within the hour as rules.events_per_hour allows",
          "nothing, or allow more"
        )
      case .device:
        (
          "another device of the user's gets it: rules.devices is newest",
          "look at the device that was bound last"
        )
      }
    return Finding(.suppressed, reason: rule.name, why, next: next)
  }

  static func skipped(_ why: String) -> Finding {
    Finding(
      .skipped, "the user was passed over: \(why)",
      next: "mend or delete that key; the next event then reaches the user")
  }

  // MARK: nothing was sent

  static func eventExpired() -> Finding {
    Finding(
      .notSent, reason: "expired", "the event had expired before a worker read it",
      next: "look for what kept it in Kafka: workers that were down, or far behind (fanfare check)")
  }

  static func notSent(_ why: String) -> Finding {
    switch why {
    case "cooldown":
      Finding(
        .notSent, reason: why,
        "the event was not sent: it came too soon after another of the streamer's "
          + "(events.cooldown)")
    case "stream ended":
      Finding(
        .notSent, reason: why, "the event was not sent: its stream had ended when it was read")
    default:
      Finding(
        .notSent, reason: "cancelled",
        "the event was cancelled before anything was sent"
          + (why.isEmpty ? "" : ": \(why)"))
    }
  }

  static let noFollowers = Finding(
    .noFollowers, "the streamer had no followers when the event was read",
    next: "write follows before events: fanfare audience show says who follows now")

  static let emptyAudience = Finding(
    .noFollowers, "nobody was in the event's audience when the event was read",
    next: "give tags before events: fanfare tag show says who has one now")

  static let notInAudience = Finding(
    .notInAudience,
    "the event has an audience of its own, in which the user is not now, and nothing was noted for "
      + "the user",
    next: "look at the event's audience and the user's tags (fanfare tag); who had which tag when "
      + "the event was sent is not known")

  static func notFollowing(_ streamer: String) -> Finding {
    Finding(
      .notFollowing, "the user does not follow \(streamer) now, and nothing was noted for the user",
      next: "fanfare follow; whether the user followed when the event was sent is not known")
  }

  static func noDevice(unreadable: Int) -> Finding {
    Finding(
      .noDevice,
      unreadable > 0
        ? "the user has no device: what stands under the user's bindings is none"
        : "the user has no device",
      next:
        "the app binds one at log-in (fanfare device bind); the push service may have called an "
        + "earlier one gone")
  }

  static func otherTopic(_ topic: String) -> Finding {
    Finding(
      .otherTopic, reason: topic,
      "no push of the event goes to devices of this topic; its pushes are for "
        + (topic.isEmpty ? "another one" : topic),
      next: "bind the token that the app has for that topic; a template's push type may ask for "
        + "another kind of token")
  }

  static func setAside(_ reason: String, by service: String) -> Finding {
    Finding(
      .setAside, reason: reason,
      "the device was set aside: \(service) had called its token \(reason)",
      next: "the app's next log-in binds it; if the configuration was wrong, fanfare device "
        + "restore gives it back")
  }

  static func boundLater(
    by milliseconds: Int64, isOver: Bool, _ service: String
  ) -> Finding {
    let later = DurationText.text(.milliseconds(milliseconds))
    return Finding(
      .boundLater,
      "nothing is kept of this device, which was bound, or bound again, \(later) after the event "
        + "began" + (isOver ? ", when that was over" : "")
        + ": if it was there before, \(service) accepted the push; otherwise it came too late",
      next: "events.trace: all keeps accepted pushes, too, so that the two can be told apart")
  }

  static func notAddressed(by service: String) -> Finding {
    Finding(
      .notAddressed,
      "nothing was noted for this device, and \(service) accepted nothing for it: it was bound, or "
        + "its owner began to follow, after the followers were read")
  }

  // MARK: nobody knows

  static func presumablyAccepted(by service: String) -> Finding {
    Finding(
      .presumablyAccepted,
      "\(service) accepted the push, as far as can be told: whatever was not accepted is kept, and "
        + "nothing is kept of this device",
      next: "events.trace: all keeps accepted pushes, too; if the user began to follow only later, "
        + "there was none")
  }

  static func notKept(omitted: Int, by service: String) -> Finding {
    Finding(
      .notKept,
      "nothing is kept of this device, and \(omitted) pushes of the event are not kept: "
        + "\(service) accepted it, or it is one of them",
      next: "fanfare fanout status shows what became of all; events.trace_maximum says how many "
        + "are kept")
  }

  static let notKeptAtAll = Finding(
    .notKept,
    "nothing was kept of this event's pushes: events.trace was none, or its worker is "
      + "older than traces",
    next: "fanfare fanout status shows what became of all of them")

  static let lost = Finding(
    .lost,
    "the fan-out has ended, and nothing says that the user's segment was settled: Redis "
      + "lost that, or its record is in the dead letters",
    next: "look at forgotten_ms and dead_lettered in fanfare fanout status, and send the dead "
      + "letters in again")

  // MARK: nothing is decided

  static func deadLetter(_ what: String) -> Finding {
    Finding(
      .lost, reason: "dead-letter", "\(what) is in the dead letters: it was not sent to its end",
      next: "mend what its fanfare-error says, and send the record in again")
  }

  static func running(settled: Int, of segments: Int) -> Finding {
    Finding(
      .running, "the fan-out goes on: \(settled) of \(segments) segments are done, the user's not",
      next: "ask again in a moment")
  }

  static func scheduled(_ time: String) -> Finding {
    Finding(
      .running, reason: "", "the event is to be sent later, at \(time)",
      next: "fanfare fanout reschedule changes that")
  }

  static func notReleased(_ why: String) -> Finding {
    Finding(
      .lost, reason: "dead-letter", "the event was due, and \(why)",
      next: "mend what its fanfare-error says, and replay the letter before the event expires")
  }

  static func paused(_ why: String) -> Finding {
    Finding(
      .paused, reason: why, "the fan-out is paused" + (why.isEmpty ? "" : ": \(why)"),
      next: "fanfare fanout resume lets it go on")
  }

  static func cancelling(_ why: String) -> Finding {
    Finding(
      .cancelled, reason: why,
      "the fan-out is cancelled" + (why.isEmpty ? "" : ": \(why)")
        + "; what is in flight still gets its answer")
  }
}

/// Advice about pushes that were rejected for a reason.
package enum RejectionAdvice {
  /// - Parameters:
  ///   - reason: as counters name it, without `rejected:`.
  ///   - platform: the name of the platform that gave it; nil: it is ours, or several give it.
  package static func text(onReason reason: String, ofPlatform platform: String?) -> String {
    let owner = Destination.all.first { $0.platform.name == platform }?.platform.owner
    return RejectionWords(service: owner ?? "the push service").of(reason).next
  }
}

/// The meaning of a rejection, by its reason, and the advice.
struct RejectionWords {
  /// The push service that rejected it, for people.
  let service: String

  func of(_ reason: String) -> Finding {
    Finding(.rejected, reason: reason, explanation(of: reason), next: next(after: reason))
  }

  private func explanation(of reason: String) -> String {
    switch reason {
    case "Unregistered", "ExpiredToken", "UNREGISTERED":
      "\(service) says that the token is gone: the app was deleted from the device, or has another"
    case "BadDeviceToken":
      "\(service) says that the token is none, or not of this environment"
    case "DeviceTokenNotForTopic": "\(service) says that the token is not for this topic"
    case "SENDER_ID_MISMATCH": "FCM says that the token is of another Firebase project"
    case "INVALID_ARGUMENT": "FCM says that the token, or the message, is not valid"
    case "DEVICE_QUOTA_EXCEEDED":
      "FCM said again and again that this device gets too many messages"
    case "PayloadTooLarge", "Unrenderable": "the payload does not fit into what \(service) takes"
    case "NoRoute": "no credentials are configured for the app, or no server for the environment"
    case "Unanswered":
      "the push was sent, and \(service) never answered: the device may have got it"
    case "Unwritable": "the push had to wait, and Kafka took no record with it"
    case "ProxyAnswered": "a proxy on the way to \(service) answered, and not \(service)"
    case "TooManyRequests": "\(service) said again and again that this device gets too many pushes"
    case "BadCertificate", "BadCertificateEnvironment", "ExpiredProviderToken", "Forbidden",
      "InvalidProviderToken", "MissingProviderToken", "UnrelatedKeyIdInToken",
      "BadEnvironmentKeyIdInToken", "TooManyProviderTokenUpdates", "UNAUTHENTICATED",
      "PERMISSION_DENIED", "NOT_FOUND", "THIRD_PARTY_AUTH_ERROR":
      "\(service) did not take our credentials (\(reason))"
    case "InternalServerError", "ServiceUnavailable", "Shutdown", "IdleTimeout", "INTERNAL",
      "UNAVAILABLE", "QUOTA_EXCEEDED":
      "\(service) could not take the push, however often it was sent (\(reason))"
    case "TopicDisallowed", "BadTopic", "MissingTopic":
      "\(service) does not let us send to this topic (\(reason))"
    default:
      "\(service) rejected the push (\(reason))"
    }
  }

  private func next(after reason: String) -> String {
    switch reason {
    case "Unregistered", "ExpiredToken", "UNREGISTERED":
      "nothing: it is taken out unless it was bound since; the app binds a token at its next start"
    case "BadDeviceToken":
      "see that the device is bound with the environment that its build was signed for; then "
        + "fanfare device restore"
    case "DeviceTokenNotForTopic":
      "see that the device is bound with its app's topic; then fanfare device restore"
    case "SENDER_ID_MISMATCH":
      "see that the app is of the project in fcm.service_account_file; then fanfare device restore"
    case "INVALID_ARGUMENT": "look at the worker's log, and at the template's section fcm"
    case "DEVICE_QUOTA_EXCEEDED": "send this user fewer events (rules.events_per_hour)"
    case "PayloadTooLarge", "Unrenderable":
      "let the template shorten a text (docs/templates.md), or send less"
    case "NoRoute":
      "name the app in apns.apps, or set apns.key_file; for Android set fcm.service_account_file; "
        + "fanfare check"
    case "Unanswered": "nothing; if there are many, look at the network to \(service)"
    case "Unwritable":
      "let Kafka take larger records (kafka.maximum_event_bytes, max.message.bytes)"
    case "ProxyAnswered": "look at apns.*.host and at what is in between: the log has the status"
    case "TooManyRequests": "send this user fewer pushes (rules.events_per_hour, collapse_id)"
    case "BadCertificate", "BadCertificateEnvironment", "ExpiredProviderToken", "Forbidden",
      "InvalidProviderToken", "MissingProviderToken", "UnrelatedKeyIdInToken",
      "BadEnvironmentKeyIdInToken", "TooManyProviderTokenUpdates", "TopicDisallowed", "BadTopic",
      "MissingTopic", "UNAUTHENTICATED", "PERMISSION_DENIED", "NOT_FOUND",
      "THIRD_PARTY_AUTH_ERROR":
      "mend the credentials of the app: fanfare check and fanfare send say what is wrong"
    case "InternalServerError", "ServiceUnavailable", "Shutdown", "IdleTimeout", "INTERNAL",
      "UNAVAILABLE", "QUOTA_EXCEEDED":
      "nothing; look at \(service)'s system status if there are many"
    case "BadCollapseId", "BadExpirationDate", "BadMessageId", "BadPriority", "DuplicateHeaders",
      "InvalidPushType", "MissingDeviceToken", "PayloadEmpty", "BadPath", "MethodNotAllowed",
      "Other":
      "fanfare send shows the request and Apple's answer; look at the template"
    default: "look the reason up in docs/operations.md"
    }
  }
}
