import LegacyAPNs
import Model
import Text

/// Pushes as frames of the legacy binary interface: command 2, which alone has a priority. Topic,
/// push type and collapse id have no place there: the gateway knows the app by the certificate.
enum BinaryFrames {
  /// Nil for a push that no gateway takes: a payload beyond 2 KiB.
  static func frame(_ push: ReadyPush, identifier: UInt32) -> [UInt8]? {
    let entry = push.batch[push.index]
    let bytes = push.batch.bytes
    let headers = push.batch.headers
    guard let token = token(hex: bytes[entry.token]) else { return nil }
    var notification = LegacyNotification(token: token, payload: Array(bytes[entry.payload]))
    notification.identifier = identifier
    notification.expiration = UInt32(clamping: headers.expiration)
    notification.priority = headers.priority == 10 ? 10 : 5
    return notification.frame(.framed)
  }

  private static func token(hex: UnsafeRawBufferPointer) -> [UInt8]? {
    guard hex.count % 2 == 0 else { return nil }
    var token: [UInt8] = []
    token.reserveCapacity(hex.count / 2)
    for place in stride(from: 0, to: hex.count, by: 2) {
      guard let high = hex[place].hexValue, let low = hex[place + 1].hexValue else { return nil }
      token.append(high << 4 | low)
    }
    return token
  }
}
