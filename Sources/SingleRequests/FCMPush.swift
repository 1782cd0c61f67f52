import JSON
import Text

/// A message to one Android device, as a request of FCM ("projects.messages.send").
package struct FCMPush: Sendable, Equatable {
  /// Of the device.
  package let token: String
  /// JSON: a message without its target.
  package let message: String
  /// How long FCM keeps it; nil: as the message says, or four weeks.
  package let timeToLive: Duration?
  /// FCM checks it and delivers nothing.
  package let isOnlyValidated: Bool

  package init(
    token: String, message: String, timeToLive: Duration? = nil, isOnlyValidated: Bool = false
  ) {
    self.token = token
    self.message = message
    self.timeToLive = timeToLive
    self.isOnlyValidated = isOnlyValidated
  }

  private static let targets = ["token", "fid", "topic", "condition"]

  /// Why it is no message; nil where FCM may take it.
  package var flaw: String? {
    if token.isEmpty || token.utf8.count > 4_096 || !token.utf8.allSatisfy(\.isPlainOrQuote) {
      return "the token must be visible ASCII, of 4,096 bytes at most"
    }
    let value: JSONValue
    do {
      value = try JSONValue.parseWithAnyIntegers(Array(message.utf8))
    } catch {
      return "the message is no JSON: \(error)"
    }
    guard let object = value.object else {
      return "the message is a JSON object, not \(value.kindName)"
    }
    if let target = Self.targets.first(where: { object[$0] != nil }) {
      return "the message names its \(target), and --token does"
    }
    if timeToLive != nil, let android = object["android"], android.object == nil {
      return "the message's android is a JSON object, not \(android.kindName)"
    }
    return nil
  }

  /// JSON; of a message without a flaw. A device is named as a worker names it: an installation id
  /// by `fid`.
  package var body: String {
    let read = (try? JSONValue.parseWithAnyIntegers(Array(message.utf8)))?.object
    var message = read ?? JSONObject()
    if let timeToLive {
      var android = message["android"]?.object ?? JSONObject()
      android["ttl"] = .string("\(Self.seconds(timeToLive))s")
      message["android"] = .object(android)
    }
    message[isInstallation ? "fid" : "token"] = .string(token)
    var request = JSONObject([("message", .object(message))])
    if isOnlyValidated { request["validateOnly"] = true }
    return JSONText.compact(.object(request))
  }

  /// A part of a second is a whole one, so that it is not over before it left. Google takes four
  /// weeks at most.
  private static func seconds(_ duration: Duration) -> Int64 {
    let (seconds, part) = duration.components
    return min(seconds + (part > 0 ? 1 : 0), 2_419_200)
  }

  /// 22 characters of base64url, the first of which says its version.
  private var isInstallation: Bool {
    let bytes = Array(token.utf8)
    return bytes.count == 22 && (UInt8(ascii: "c")...UInt8(ascii: "f")).contains(bytes[0])
      && bytes.allSatisfy { $0.isASCIIWord || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
  }
}

extension UInt8 {
  fileprivate var isPlainOrQuote: Bool { (0x21...0x7E).contains(self) }
}
