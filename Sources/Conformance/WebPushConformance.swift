import JSON
import WebPush
import WebPushSimulator

/// The rules for a message to a browser (RFC 8030, 8188, 8291 and 8292, and what the services
/// document or were seen to do), a row for each side of each.
package enum WebPushConformance {
  /// A rule, and the answers of the services that have it.
  struct Rule: Sendable {
    let text: String
    let answers: [ServiceDialect: String]
    /// Of the subscription.
    var fault: WebPushFault?
    var carried: (name: String, value: String?)?
    let spoil: @Sendable (inout WebPushDraft, WebPushSender) throws -> Void

    init(
      _ text: String, _ answers: [ServiceDialect: String], fault: WebPushFault? = nil,
      carries carried: (name: String, value: String?)? = nil,
      spoil: @escaping @Sendable (inout WebPushDraft, WebPushSender) throws -> Void = { _, _ in }
    ) {
      self.text = text
      self.answers = answers
      self.fault = fault
      self.carried = carried
      self.spoil = spoil
    }
  }

  static let rules = bodies + lifetimes + fields + encryption + tokens + claims + faults

  static func host(_ service: ServiceDialect) -> String {
    switch service {
    case .google: "fcm.googleapis.com"
    case .mozilla: "updates.push.services.mozilla.com"
    case .apple: "web.push.apple.com"
    case .windows: "wns2-by3p.notify.windows.com"
    case .other: "push.test"
    }
  }

  // MARK: answers

  private static let accepted: [ServiceDialect: String] = [
    .google: "201", .mozilla: "201", .apple: "201", .windows: "201 received", .other: "201",
  ]

  /// Of one status, with the words of Mozilla and Apple.
  private static func refused(
    _ status: Int, _ number: Int, _ reason: String, google: String? = nil
  ) -> [ServiceDialect: String] {
    [
      .google: google ?? "\(status)", .mozilla: "\(status) errno \(number)",
      .apple: "\(status) \(reason)", .windows: "\(status) dropped", .other: "\(status)",
    ]
  }

  /// Of a VAPID token: Mozilla has one number for all, and Apple one status.
  private static func unauthorized(
    _ status: Int, google: String, apple: String = "BadJwtToken"
  ) -> [ServiceDialect: String] {
    [
      .google: google, .mozilla: "401 errno 109", .apple: "403 \(apple)",
      .windows: "\(status) dropped", .other: "\(status)",
    ]
  }

  private static let badAuthorization = unauthorized(401, google: "400 UnauthorizedRegistration")
  private static let badToken = unauthorized(403, google: "403")

  /// Apple alone minds.
  private static func apple(_ answer: String) -> [ServiceDialect: String] {
    accepted.merging([.apple: answer]) { $1 }
  }

  // MARK: rules

  private static let bodies: [Rule] = [
    Rule("a sound message is accepted", accepted, carries: ("location", nil)),
    Rule("Apple gives it an id", [.apple: "201"], carries: ("apns-id", nil)),
    Rule("the method is POST", refused(405, 999, "MethodNotAllowed")) { draft, _ in
      draft.method = "PUT"
    },
    Rule("the address is a subscription's", refused(404, 102, "BadPath")) { draft, _ in
      draft.path += "x"
    },
    Rule("a message may be empty", accepted) { draft, _ in
      draft.body = []
      draft.set("content-encoding", nil)
    },
    Rule("one that is empty has no encoding", refused(400, 110, "BadWebPushRequest")) { draft, _ in
      draft.body = []
    },
    Rule("an encoding is needed", refused(400, 110, "BadWebPushRequest")) { draft, _ in
      draft.set("content-encoding", nil)
    },
    Rule("it is aes128gcm", refused(400, 110, "BadWebPushRequest")) { draft, _ in
      draft.set("content-encoding", "aesgcm")
    },
    Rule("it comes without Encryption", refused(400, 101, "BadWebPushRequest")) { draft, _ in
      draft.add("encryption", "salt=DGv6ra1nlYgDCS1FRnbzlw")
    },
    Rule("it comes without Crypto-Key", refused(400, 101, "BadWebPushRequest")) { draft, _ in
      draft.add("crypto-key", "dh=BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS")
    },
    Rule("a body may have 4,096 bytes", accepted) { draft, sender in
      let message = [UInt8](repeating: 0x61, count: MessageEncryptor.maximumMessageBytes)
      draft.body = try sender.encrypt(message, for: draft.subscription)
    },
    Rule("it may have no more", refused(413, 104, "PayloadTooLarge", google: "400")) {
      draft, sender in
      let message = [UInt8](repeating: 0x61, count: MessageEncryptor.maximumMessageBytes)
      draft.body = try sender.encrypt(message, for: draft.subscription) + [0]
    },
  ]

  private static let lifetimes: [Rule] = [
    Rule("a TTL is needed", refused(400, 111, "BadTtl")) { draft, _ in draft.set("ttl", nil) },
    Rule("it is a number", refused(400, 114, "BadTtl")) { draft, _ in draft.set("ttl", "1h") },
    Rule("it is not negative", refused(400, 114, "BadTtl")) { draft, _ in draft.set("ttl", "-1") },
    Rule("it comes once", refused(400, 114, "BadTtl")) { draft, _ in draft.add("ttl", "90") },
    Rule("the answer says it", accepted, carries: ("ttl", "90")),
    Rule("a long one is shortened", accepted, carries: ("ttl", "2592000")) { draft, _ in
      draft.set("ttl", "31536000")
    },
    Rule("it may be 0", accepted, carries: ("ttl", "0")) { draft, _ in
      draft.set("ttl", "0")
      if draft.service == .windows { draft.set("x-wns-cache-policy", "no-cache") }
    },
    Rule("with 0 nothing is cached", [.windows: "400 dropped"]) { draft, _ in
      draft.set("ttl", "0")
    },
    Rule("with another TTL it is", [.windows: "400 dropped"]) { draft, _ in
      draft.set("x-wns-cache-policy", "no-cache")
    },
    Rule("a cache policy is needed", [.windows: "400 dropped"]) { draft, _ in
      draft.set("x-wns-cache-policy", nil)
    },
  ]

  private static let fields: [Rule] =
    ["very-low", "low", "normal", "high"].map { (urgency: String) in
      Rule("an urgency may be \(urgency)", accepted) { draft, _ in draft.set("urgency", urgency) }
    } + [
      Rule("an urgency is not needed", accepted) { draft, _ in draft.set("urgency", nil) },
      Rule("it is one of four", refused(400, 111, "BadUrgency")) { draft, _ in
        draft.set("urgency", "urgent")
      },
      Rule("it comes once", refused(400, 111, "BadUrgency")) { draft, _ in
        draft.add("urgency", "low")
      },
      Rule("a topic may have 32 characters", accepted) { draft, _ in
        draft.set("topic", String(repeating: "a", count: 32))
      },
      Rule("it may have no more", refused(400, 113, "BadWebPushTopic")) { draft, _ in
        draft.set("topic", String(repeating: "a", count: 33))
      },
      Rule("it is of base64url", refused(400, 113, "BadWebPushTopic")) { draft, _ in
        draft.set("topic", "live.s42")
      },
      Rule("Apple decodes it", apple("400 BadWebPushTopic")) { draft, _ in
        draft.set("topic", "abcde")
      },
      Rule("it comes once", refused(400, 113, "BadWebPushTopic")) { draft, _ in
        draft.set("topic", "live")
        draft.add("topic", "live")
      },
    ]

  /// No real service can tell: a browser throws such a message away, and nobody hears of it.
  private static let encryption: [Rule] = {
    let unreadable = refused(400, 110, "BadWebPushRequest")
    return [
      Rule("a message is for the subscription's keys", unreadable) { draft, sender in
        let other = SimulatedSubscription(
          endpoint: draft.subscription.endpoint, publicKey: draft.subscription.publicKey,
          secret: [UInt8](repeating: 7, count: 16))
        draft.body = try sender.encrypt([0x61], for: other)
      },
      Rule("it is whole", unreadable) { draft, _ in draft.body.removeLast() },
      Rule("it is unchanged", unreadable) { draft, _ in draft.body[draft.body.count - 1] ^= 1 },
      Rule("its salt is too", unreadable) { draft, _ in draft.body[0] ^= 1 },
      Rule("it is one record", unreadable) { draft, _ in
        draft.body.replaceSubrange(16..<20, with: [0, 0, 0, 18])
      },
      Rule("its key has 65 bytes", unreadable) { draft, _ in draft.body[20] = 33 },
      Rule("its key is a point of the curve", unreadable) { draft, _ in draft.body[30] ^= 1 },
      Rule("it is longer than its header", unreadable) { draft, _ in
        draft.body.removeSubrange(86...)
      },
    ]
  }()

  private static let tokens: [Rule] = [
    Rule("a VAPID token is needed", unauthorized(401, google: "401")) { draft, _ in
      draft.set("authorization", nil)
    },
    Rule("it comes once", badAuthorization) { draft, sender in
      draft.add("authorization", try sender.authorization(draft.origin))
    },
    authorization("its scheme is vapid", badAuthorization, form: "WebPush <t>"),
    authorization("the scheme may be in capitals", accepted, form: "VAPID t=<t>, k=<k>"),
    authorization("the key may stand first", accepted, form: "vapid k=<k>,t=<t>"),
    authorization("the key is needed", badAuthorization, form: "vapid t=<t>"),
    authorization("the token is needed", badAuthorization, form: "vapid k=<k>"),
    authorization("no parameter comes twice", badAuthorization, form: "vapid t=<t>, t=<t>, k=<k>"),
    authorization(
      "the key is a point of the curve",
      unauthorized(403, google: "403", apple: "BadVapidPublicKey"), form: "vapid t=<t>, k=AAAA"),
    authorization("the token is a JSON web token", badToken, form: "vapid t=a.b.c, k=<k>"),
    Rule("its algorithm is ES256", badToken) { draft, sender in
      draft.set("authorization", try sender.authorization(draft.origin, algorithm: "none"))
    },
    Rule("the key has signed it", badToken) { draft, sender in
      draft.set(
        "authorization", try sender.authorization(draft.origin, signer: sender.stranger))
    },
    Rule(
      "the key is the subscription's",
      unauthorized(403, google: "403", apple: "VapidPkHashMismatch")
    ) { draft, sender in
      draft.set("authorization", try sender.authorization(draft.origin, key: sender.stranger))
    },
  ]

  private static func authorization(
    _ text: String, _ answers: [ServiceDialect: String], form: String
  ) -> Rule {
    Rule(text, answers) { draft, sender in
      draft.set("authorization", try sender.authorization(draft.origin, form: form))
    }
  }

  private static let claims: [Rule] = [
    claim("the token is for the origin", badToken) { ["aud": .string($0.origin + "/push")] },
    claim("it says for whom", badToken) { _ in ["aud": .null] },
    claim("it may be for several", accepted) {
      ["aud": ["https://push.example.net", .string($0.origin)]]
    },
    expiry("it may last a day", accepted, seconds: 86_400),
    expiry("it may last no longer", badToken, seconds: 86_400 + 3600),
    expiry("it has not ended", badToken, seconds: -1),
    claim("an end is needed", badToken) { _ in ["exp": .null] },
    claim("the end is a number", badToken) { _ in ["exp": "tomorrow"] },
    claim("Apple wants to know the sender", apple("403 BadJwtToken")) { _ in ["sub": .null] },
    claim("it may be a page", accepted) { _ in ["sub": "https://example.com/push"] },
    claim("it is not localhost", apple("403 BadJwtToken")) { _ in ["sub": "mailto:push@localhost"]
    },
    claim("it has no angle brackets", apple("403 BadJwtToken")) { _ in
      ["sub": "mailto:<push@example.com>"]
    },
    claim("it is a mailto: or a page", apple("403 BadJwtToken")) { _ in ["sub": "push@example.com"]
    },
    claim("it is a text", badToken) { _ in ["sub": 7] },
  ]

  private static func claim(
    _ text: String, _ answers: [ServiceDialect: String],
    _ claims: @escaping @Sendable (WebPushDraft) -> [String: JSONValue]
  ) -> Rule {
    Rule(text, answers) { draft, sender in
      draft.set(
        "authorization", try sender.authorization(draft.origin, claims: claims(draft)))
    }
  }

  private static func expiry(
    _ text: String, _ answers: [ServiceDialect: String], seconds: Int64
  ) -> Rule {
    Rule(text, answers) { draft, sender in
      draft.set(
        "authorization",
        try sender.authorization(
          draft.origin, claims: ["exp": .integer(sender.nowSeconds + seconds)]))
    }
  }

  /// The fault that a subscription asks for by its address.
  private static let faults: [Rule] = [
    Rule("a subscription that has ended is gone", refused(410, 106, "Unregistered"), fault: .gone),
    Rule("one that never was is not found", refused(404, 102, "BadPath"), fault: .notFound),
    Rule(
      "too many messages are refused for a while",
      refused(429, 201, "TooManyRequests").merging([.windows: "406 channelthrottled"]) { $1 },
      fault: .tooMany, carries: ("retry-after", nil)),
    Rule(
      "so they are by 406",
      [.windows: "406 channelthrottled", .other: "406"], fault: .throttled,
      carries: ("retry-after", "900")),
    Rule("a failure is the service's", refused(500, 999, "InternalServerError"), fault: .internal),
    Rule(
      "one behind it too", refused(502, 900, "InternalServerError"), fault: .badGateway),
    Rule("a service may be busy", refused(503, 201, "ServiceUnavailable"), fault: .unavailable),
    Rule(
      "a redirection names a place", refused(307, 999, "BadWebPushRequest"), fault: .redirect,
      carries: ("location", nil)),
  ]
}
