import FCMSimulator
import JSON
import SingleRequests

/// FCM's rules for a message ("projects.messages.send", "FCM error codes", the schema of fcm.v1), a
/// row for each side of each.
package enum MessageConformance {
  private static let refused = "400 INVALID_ARGUMENT INVALID_ARGUMENT"
  /// Of a body that is not the message's JSON: FCM itself has not seen it.
  private static let unreadable = "400 INVALID_ARGUMENT"

  /// The common part of the requests.
  private struct Sender {
    let projectID: String
    var path: String { "/v1/projects/\(projectID)/messages:send" }

    func send(_ body: String, path other: String? = nil, method: String = "POST") -> AppleRequest {
      AppleRequest(
        method: method, path: other ?? path,
        fields: [.init("content-type", "application/json")], body: body)
    }

    /// A message to a usual token, with further members.
    func message(_ members: String = #""data":{"stream":"1"}"#) -> AppleRequest {
      send(#"{"message":{"token":"a:b",\#(members)}}"#)
    }

    func to(_ target: String) -> AppleRequest {
      send(#"{"message":{\#(target),"data":{"stream":"1"}}}"#)
    }

    func data(_ count: Int, more: String = "") -> AppleRequest {
      message(#""data":{"k":"\#(String(repeating: "x", count: count - 1))"}"# + more)
    }
  }

  /// - Parameters:
  ///   - projectID: of the service account.
  ///   - projectNumber: the other name that paths may give the project.
  package static func rows(projectID: String, projectNumber: String) -> [FCMConformanceRow] {
    let sender = Sender(projectID: projectID)
    return paths(sender, projectNumber) + credentials(sender) + targets(sender)
      + bodies(sender) + data(sender) + android(sender) + sizes(sender) + answers(sender)
  }

  private static func paths(_ sender: Sender, _ number: String) -> [FCMConformanceRow] {
    let body = #"{"message":{"token":"a:b","data":{"stream":"1"}}}"#
    let name = "projects/\(sender.projectID)/messages/"
    func row(
      _ rule: String, _ path: String, _ answer: String, method: String = "POST"
    ) -> FCMConformanceRow {
      FCMConformanceRow(
        rule, sender.send(body, path: path, method: method), answer,
        carries: answer == "200" ? .name(name) : .nothing)
    }
    return [
      row("a sound message is accepted", sender.path, "200"),
      row("a project may be named by its number", "/v1/projects/\(number)/messages:send", "200"),
      row("a path may have parameters", sender.path + "?alt=json", "200"),
      row("the project is the account's", "/v1/projects/other/messages:send", "404 NOT_FOUND"),
      row("the path is one", "/v1/messages:send", "404"),
      row("the method is POST", sender.path, "404", method: "GET"),
      FCMConformanceRow(
        "what is only validated is not sent",
        sender.send(#"{"validateOnly":true,"message":{"token":"a:b"}}"#), "200",
        carries: .name(name + "fake_message_id")),
    ]
  }

  private static func credentials(_ sender: Sender) -> [FCMConformanceRow] {
    let message = sender.message()
    let expired = FCMConformanceRow.Carried.reason("ACCESS_TOKEN_EXPIRED")
    return [
      FCMConformanceRow(
        "an access token is needed", message, "401 UNAUTHENTICATED", credential: .absent,
        carries: .reason("CREDENTIALS_MISSING")),
      FCMConformanceRow(
        "a refusal of it has a challenge", message, "401 UNAUTHENTICATED", credential: .absent,
        carries: .header("www-authenticate", nil)),
      FCMConformanceRow(
        "it is one that was issued", message, "401 UNAUTHENTICATED", credential: .unknown,
        carries: .reason("ACCESS_TOKEN_TYPE_UNSUPPORTED")),
      FCMConformanceRow(
        "it comes as Bearer", message, "401 UNAUTHENTICATED", credential: .notBearer,
        carries: .reason("ACCESS_TOKEN_TYPE_UNSUPPORTED")),
      FCMConformanceRow("the scheme has no case", message, "200", credential: .lowerCase),
      FCMConformanceRow(
        "its scope is firebase.messaging", message, "403 PERMISSION_DENIED",
        credential: .otherScope, carries: .reason("ACCESS_TOKEN_SCOPE_INSUFFICIENT")),
      FCMConformanceRow(
        "its scope may be cloud-platform", message, "200", credential: .wideScope),
      FCMConformanceRow(
        "it may end at any time", sender.to(token(.expiredBearer)), "401 UNAUTHENTICATED",
        credential: .expiring, carries: expired),
      FCMConformanceRow(
        "it has ended for good", message, "401 UNAUTHENTICATED", credential: .expiring,
        carries: expired),
    ]
  }

  private static func token(_ fault: FCMFault) -> String {
    #""token":"\#(MagicTokens.token(fault))""#
  }

  private static func targets(_ sender: Sender) -> [FCMConformanceRow] {
    func row(
      _ rule: String, _ target: String, _ answer: String, about field: String? = nil
    ) -> FCMConformanceRow {
      FCMConformanceRow(
        rule, sender.to(target), answer, carries: field.map { .field($0) } ?? .nothing)
    }
    let long = String(repeating: "t", count: 4096)
    return [
      row("a target is needed", #""name":"""#, refused, about: "message"),
      row("there is one target", #""token":"a","topic":"b""#, unreadable, about: "message"),
      row("of a name that comes twice the last counts", #""token":"a b","token":"a""#, "200"),
      row("a token is not empty", #""token":"""#, refused, about: "message"),
      row("a token has no spaces", #""token":"a b""#, refused, about: "message.token"),
      row("a token may have 4,096 bytes", #""token":"\#(long)""#, "200"),
      row(
        "a token has 4,096 bytes at most", #""token":"\#(long)t""#, refused,
        about: "message.token"),
      row("a target may be an installation", #""fid":"cdefghijklmnopqrstuvwx""#, "200"),
      row(
        "an installation begins with c, d, e or f", #""fid":"abcdefghijklmnopqrstuv""#, refused,
        about: "message.fid"),
      row(
        "an installation has 22 characters", #""fid":"cdefghijklmnopqrstuvwxy""#, refused,
        about: "message.fid"),
      row("a target may be a topic", #""topic":"news""#, "200"),
      row("a topic is well-formed", #""topic":"a b""#, refused, about: "message.topic"),
      row("a target may be a condition", #""condition":"'a' in topics""#, "200"),
    ]
  }

  private static func bodies(_ sender: Sender) -> [FCMConformanceRow] {
    [
      FCMConformanceRow("there is a body", sender.send(""), unreadable),
      FCMConformanceRow("a body is a JSON object", sender.send("[]"), unreadable),
      FCMConformanceRow("a body ends with the object", sender.send("{}{}"), unreadable),
      FCMConformanceRow(
        "there is a message", sender.send("{}"), refused, carries: .field("message")),
      FCMConformanceRow(
        "a message has no unknown field", sender.message(#""badge":1"#), unreadable,
        carries: .field("message")),
      FCMConformanceRow(
        "a field has its type", sender.message(#""notification":{"title":1}"#), unreadable,
        carries: .field("message.notification.title")),
      FCMConformanceRow(
        "a field may have its name in the schema",
        sender.message(#""android":{"collapse_key":"live"}"#), "200"),
      FCMConformanceRow(
        "null is as good as nothing", sender.message(#""notification":null"#), "200"),
      FCMConformanceRow(
        "other platforms may have their own part",
        sender.message(
          #""apns":{"headers":{"apns-priority":"5"},"payload":{"aps":{}}},"#
            + #""webpush":{"headers":{"TTL":"0"},"fcm_options":{"link":"https://example.com"}}"#),
        "200"),
      FCMConformanceRow(
        "a label of analytics is well-formed",
        sender.message(#""fcmOptions":{"analyticsLabel":"a b"}"#), refused,
        carries: .field("message.fcm_options.analytics_label")),
      FCMConformanceRow(
        "a label of analytics may have 50 characters",
        sender.message(
          #""fcmOptions":{"analyticsLabel":"\#(String(repeating: "a", count: 50))"}"#), "200"),
    ]
  }

  private static func data(_ sender: Sender) -> [FCMConformanceRow] {
    var rows = [
      FCMConformanceRow(
        "values of data are texts", sender.message(#""data":{"n":7}"#), unreadable,
        carries: .field("message.data[0].value"))
    ]
    for key in ["from", "message_type", "google.x", "gcm.notification.x"] {
      rows.append(
        FCMConformanceRow(
          "the key \(key) is reserved", sender.message(#""data":{"\#(key)":"x"}"#), refused,
          carries: .field("message.data.\(key)")))
    }
    for key in ["from_user", "gcm.x"] {
      rows.append(
        FCMConformanceRow(
          "the key \(key) is free", sender.message(#""data":{"\#(key)":"x"}"#), "200"))
    }
    return rows
  }

  private static func android(_ sender: Sender) -> [FCMConformanceRow] {
    func row(
      _ rule: String, _ members: String, _ answer: String, about field: String? = nil
    ) -> FCMConformanceRow {
      FCMConformanceRow(
        rule, sender.message(#""android":{\#(members)}"#), answer,
        carries: field.map { .field("message.android.\($0)") } ?? .nothing)
    }
    return [
      row("a priority may be HIGH", #""priority":"HIGH""#, "200"),
      row("a priority may be normal", #""priority":"normal""#, "200"),
      row("a priority is one of two", #""priority":"LOW""#, unreadable, about: "priority"),
      row("a lifetime may be a day", #""ttl":"86400s""#, "200"),
      row("a lifetime may be none", #""ttl":"0s""#, "200"),
      row("a lifetime may have a fraction", #""ttl":"3.5s""#, "200"),
      row("a lifetime may be four weeks", #""ttl":"2419200s""#, "200"),
      row("a lifetime is four weeks at most", #""ttl":"2419201s""#, refused, about: "ttl"),
      row("a lifetime is not negative", #""ttl":"-1s""#, refused, about: "ttl"),
      row("a lifetime is in seconds", #""ttl":"1h""#, unreadable, about: "ttl"),
      row("a lifetime is a text", #""ttl":60"#, unreadable, about: "ttl"),
      row("a color is #rrggbb", ##""notification":{"color":"#ff8800"}"##, "200"),
      row(
        "a color has no name", #""notification":{"color":"red"}"#, refused,
        about: "notification.color"),
      FCMConformanceRow(
        "android and androidV2 exclude each other",
        sender.message(#""android":{"priority":"HIGH"},"androidV2":{"collapseKey":"a"}"#), refused,
        carries: .field("message.android_v2")),
    ]
  }

  private static func sizes(_ sender: Sender) -> [FCMConformanceRow] {
    func topic(_ count: Int) -> AppleRequest {
      sender.send(
        #"{"message":{"topic":"news","data":{"k":"\#(String(repeating: "x", count: count - 1))"}}}"#
      )
    }
    let more = #","android":{"data":{"k":"\#(String(repeating: "y", count: 4000))"}}"#
    let title = #","notification":{"title":"t"}"#
    return [
      FCMConformanceRow("a message may have 4,096 bytes", sender.data(4096), "200"),
      FCMConformanceRow(
        "a message has 4,096 bytes at most", sender.data(4097), refused,
        carries: .field("message")),
      FCMConformanceRow(
        "its notification counts", sender.data(4096, more: title), refused,
        carries: .field("message")),
      FCMConformanceRow(
        "android's data stands in the place of the message's", sender.data(4000, more: more),
        "200"),
      FCMConformanceRow("a message to a topic may have 2,048 bytes", topic(2048), "200"),
      FCMConformanceRow(
        "a message to a topic has 2,048 bytes at most", topic(2049), refused,
        carries: .field("message")),
      FCMConformanceRow(
        "a body has 64 KiB at most",
        sender.message(String(repeating: " ", count: 65_536) + #""data":{}"#), unreadable),
    ]
  }

  // MARK: what no request provokes

  /// Those that depend on what only Google knows (a device's past, its load): had by the token.
  package static let answeredByToken: [(fault: FCMFault, answer: String)] = [
    (.unregistered, "404 NOT_FOUND UNREGISTERED"),
    (.senderIDMismatch, "403 PERMISSION_DENIED SENDER_ID_MISMATCH"),
    (.thirdPartyAuth, "401 UNAUTHENTICATED THIRD_PARTY_AUTH_ERROR"),
    (.badToken, refused), (.badPayload, refused),
    (.notFound, "404 NOT_FOUND"), (.forbidden, "403 PERMISSION_DENIED"),
    (.projectQuota, "429 RESOURCE_EXHAUSTED QUOTA_EXCEEDED"),
    (.deviceQuota, "429 RESOURCE_EXHAUSTED QUOTA_EXCEEDED"),
    (.internal, "500 INTERNAL INTERNAL"), (.unavailable, "503 UNAVAILABLE UNAVAILABLE"),
    (.unavailableSeconds, "503 UNAVAILABLE UNAVAILABLE"),
    (.unavailableDate, "503 UNAVAILABLE UNAVAILABLE"),
    (.badGateway, "502"), (.emptyInternal, "500"),
  ]

  private static func carried(_ fault: FCMFault) -> FCMConformanceRow.Carried {
    switch fault {
    case .badToken: .field("message.token")
    case .badPayload: .field("message.data")
    case .forbidden: .reason("IAM_PERMISSION_DENIED")
    case .projectQuota: .subject("project")
    case .deviceQuota: .subject("device:token")
    case .unavailableSeconds: .header("retry-after", "\(FCMFault.usualRetryAfter)")
    case .unavailableDate: .header("retry-after", nil)
    default: .nothing
    }
  }

  private static func answers(_ sender: Sender) -> [FCMConformanceRow] {
    answeredByToken.map { fault, answer in
      FCMConformanceRow(
        "by the token", sender.to(token(fault)), answer, carries: carried(fault))
    }
  }
}
