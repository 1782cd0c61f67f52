import Deliver
import HTTP2
import Model
import Subscriptions

/// One message, encrypted and with its header fields as a worker writes them: for whoever sends one
/// by hand.
package struct SealedMessage: Sendable {
  package struct Field: Sendable {
    package let name: String
    package let value: String
  }

  /// Of the push service: host, and the port where it is not 443.
  package fileprivate(set) var authority = ""
  /// Path and query of the endpoint: a secret.
  package fileprivate(set) var path = ""
  /// The VAPID token: a secret.
  package fileprivate(set) var authorization = ""
  /// All others, in the order of the wire, without pseudo-header fields.
  package fileprivate(set) var fields: [Field] = []
  package fileprivate(set) var body: [UInt8] = []

  fileprivate init(_ block: HTTP2FieldBlock, body: UnsafeRawBufferPointer) {
    self.body = Array(body)
    block.withEach { name, value in
      let value = String(decoding: value, as: UTF8.self)
      switch String(decoding: name, as: UTF8.self) {
      case ":authority": authority = value
      case ":path": path = value
      case "authorization": authorization = value
      case let name where name.hasPrefix(":"): break
      case let name: fields.append(Field(name: name, value: value))
      }
    }
  }
}

extension WebPushCredentials {
  /// - Parameters:
  ///   - message: of `MessageEncryptor.maximumMessageBytes` at most.
  ///   - binding: of the service of this account, with a key pair of ours.
  ///   - authority: of the service: host, and the port where it is not 443.
  ///   - now: ms since 1970.
  /// - Returns: nil for a message that is too long, or keys that are of no use.
  func seal(
    _ message: String, for binding: Binding, _ headers: PushHeaders, authority: String,
    _ encryption: MessageEncryption, now: Int64
  ) throws(CredentialProblem) -> SealedMessage? {
    let shared = encode(headers, try credential(now: now))
    guard
      let writer = try? WebPushRequestWriter(
        authority: authority, slots: 1, dialect, encryption, wallClock: { now }),
      let block = writer.fields(sharing: shared)
    else { return nil }
    // The block borrows bytes of the writer, the headers and the endpoint.
    return withExtendedLifetime((writer, shared)) {
      Array(binding.token.utf8).withUnsafeBytes { token in
        Array(binding.keys.utf8).withUnsafeBytes { keys in
          Array(message.utf8).withUnsafeBytes { message in
            writer.fill(block, keys: keys, token: token, message: message, slot: 0)
              .map { SealedMessage(block, body: $0) }
          }
        }
      }
    }
  }
}

extension WebPushServices {
  /// The service of one subscription, where a worker would connect, and a message for it.
  /// - Parameters:
  ///   - target: as for `service(at:_:)`.
  ///   - now: ms since 1970.
  /// - Returns: nil for an endpoint that the rules refuse, a message that is too long, or keys that
  ///   are of no use.
  package func seal(
    _ message: String, for binding: Binding, _ headers: PushHeaders, to target: RouteTarget,
    now: Int64
  ) throws(CredentialProblem) -> (service: PushService, message: SealedMessage)? {
    guard let endpoint = try? PushEndpoint(binding.token, rules: rules),
      let service = service(at: endpoint.authority, target),
      let account = service.account as? WebPushCredentials,
      let sealed = try account.seal(
        message, for: binding, headers, authority: endpoint.authority, encryption, now: now)
    else { return nil }
    return (service, sealed)
  }
}
