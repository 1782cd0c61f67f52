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
