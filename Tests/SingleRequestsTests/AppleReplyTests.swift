import SingleRequests
import Testing

@testable import TLS
@testable import Transport

@Suite struct AppleReplyTests {
  /// A hint that does not fit leads astray for longer than none.
  @Test(arguments: [
    (TLSError.Code.untrusted, "apns.ca_file"), (.hostMismatch, "names others"),
    (.expired, "new certificate"), (.weak, "SHA-256"), (.oldVersion, "TLS 1.2"),
    (.noProtocol, "right port"), (.notTLS, "right port"), (.handshake, "apns.ca_file"),
  ])
  func eachTroubleWithTLSHasItsHint(code: TLSError.Code, words: String) {
    var reply = AppleReply()
    reply.error = TransportError(.tls, "no TLS", cause: TLSError(code, "why", cause: nil))
    #expect(reply.hint?.contains(words) == true, "\(reply.hint ?? "none")")
  }

  @Test(arguments: [
    (TransportError.Code.unresolved, "DNS"), (.unreachable, "port 2197"),
    (.closedByPeer, "TLS 1.2"), (.reset, "TLS 1.2"), (.proxy, "apns.proxy.host"),
  ])
  func eachTroubleOnTheWayHasItsHint(code: TransportError.Code, words: String) {
    var reply = AppleReply()
    #expect(reply.hint == nil)
    reply.error = TransportError(code, "why")
    #expect(reply.hint?.lowercased().contains(words.lowercased()) == true)
    // It spoke TLS before.
    reply.connectMilliseconds = 3
    #expect((reply.hint == nil) == [.closedByPeer, .reset].contains(code))
  }
}
