/// A request that is over.
package struct HTTP2Ended {
  package let slot: Int
  /// Of the final response head; 0 when none came.
  package let status: Int
  /// 0: the response was read to its end. Anything else is an error code of RFC 9113, section 7;
  /// the response may nevertheless have been complete before it.
  package let errorCode: UInt32
  /// False: nothing of it left, so that no server has seen it.
  package let wasSent: Bool
  /// False: its body did not leave to the end, so that no server can have taken it.
  package let wasWhole: Bool
  /// What the response said besides its status; nil when that was nothing that is kept.
  package let content: HTTP2Content?
}

/// The fields and the body of a response, as far as `HTTP2ClientOptions` keeps them.
package final class HTTP2Content {
  /// Of the final head; neither pseudo-header fields nor trailers.
  package internal(set) var fields: [(name: [UInt8], value: [UInt8])] = []
  package internal(set) var body: [UInt8] = []

  /// Of the last field of that name.
  package func value(of name: [UInt8]) -> [UInt8]? { fields.last { $0.name == name }?.value }
}

/// The server takes no new streams.
package struct HTTP2GoAway {
  /// Streams above it are closed with REFUSED_STREAM.
  package let lastStreamID: Int32
  package let errorCode: UInt32
  package let debug: [UInt8]
}
