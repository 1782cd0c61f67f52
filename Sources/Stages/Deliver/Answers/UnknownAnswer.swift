/// An answer to a push that the platform does not document: a proxy's, or a new reason.
package struct UnknownAnswer: Sendable, Hashable {
  /// Bytes of a reason: twice as many as any that is documented has.
  package static let maximumReason = 64

  package let status: Int
  /// Visible ASCII; empty when there was none, or none that can be shown.
  package let reason: String

  /// - Parameter reason: of any bytes; empty when there was none.
  package init(status: Int, reason: String) {
    let visible = reason.utf8.prefix(Self.maximumReason).filter { 0x21...0x7E ~= $0 }
    self.status = status
    self.reason = String(decoding: visible, as: UTF8.self)
  }

  /// Stands for those that are too many to be told apart.
  static let others = UnknownAnswer(status: 0, reason: "others")

  package var words: String {
    reason.isEmpty
      ? "\(status) without a reason" : "\(status) \(reason), which is not documented"
  }
}
