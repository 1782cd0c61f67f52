import JSON
import Transport

/// The result of one request: an answer, or why there is none.
package struct AppleReply: Sendable {
  /// Until TLS was done and HTTP/2 agreed on; nil when it did not come so far.
  package var connectMilliseconds: Int?
  /// From then until the answer had been read.
  var answerMilliseconds: Int?
  /// Why there is no answer.
  package var failure: String?
  package var error: TransportError?
  /// Nil when nothing was asked or answered.
  package var status: Int?
  package var fields: [AppleRequest.Field] = []
  package var body: [UInt8] = []
  /// The answer was read to its end.
  package var isWhole = true

  package init() {}

  /// Apple's word for a refusal.
  package var reason: String? { object?["reason"]?.string }

  /// Ms since 1970, of a 410: since when the token is gone.
  package var timestamp: Int64? { object?["timestamp"]?.integer }

  package var object: JSONObject? { (try? JSONValue.parse(body))?.object }

  package func field(_ name: String) -> String? { fields.last { $0.name == name }?.value }

  /// Advice to an operator when there was no answer.
  package var hint: String? {
    switch error?.code {
    case .unresolved: "is the host's name right, and does DNS work here?"
    case .unreachable, .timeout: "is the way to this port open? Port 2197 may be where 443 is not"
    case .tls where error?.cause?.hint != nil: error?.cause?.hint
    case .tls: "apns.ca_file names what is trusted instead of the system's authorities"
    case .closedByPeer where connectMilliseconds == nil,
      .reset where connectMilliseconds == nil:
      "the server must speak TLS 1.2 or newer at this port"
    case .proxy: "apns.proxy.host, fcm.proxy.host or webpush.proxy.host names the proxy"
    default: nil
    }
  }
}
