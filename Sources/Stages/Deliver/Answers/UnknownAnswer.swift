import Model

/// An answer to a push that Apple does not document: a proxy's, or a new reason.
package struct UnknownAnswer: Sendable, Hashable {
  /// Apple's longest is 27.
  private static let maximumReason = 64

  package let status: Int
  /// Visible ASCII; empty when there was none, or none that can be shown.
  package let reason: String

  /// Nil for an answer that Apple documents.
  init?(status: Int, reason: String?, _ disposition: Disposition) {
    guard let reason else {
      switch disposition {
      case .hold(.other), .retry(.proxyAnswered), .retryElsewhere(.proxyAnswered):
        self.init(status: status, reason: "")
      default: return nil
      }
      return
    }
    guard status != 200, RejectionReason(name: reason) == .other else { return nil }
    let visible = reason.utf8.prefix(Self.maximumReason).filter { 0x21...0x7E ~= $0 }
    self.init(status: status, reason: String(decoding: visible, as: UTF8.self))
  }

  private init(status: Int, reason: String) {
    self.status = status
    self.reason = reason
  }

  /// In the place of those that are too many to be told apart.
  static let others = UnknownAnswer(status: 0, reason: "others")

  package var words: String {
    reason.isEmpty
      ? "\(status) without a reason" : "\(status) \(reason), which Apple does not document"
  }
}
