import Model

/// Counts each answer of a server.
package struct AnswerCounts: Sendable, Equatable {
  package struct Refusal: Sendable, Hashable {
    /// Of HTTP; 0 for those that are too many.
    package let status: Int
    /// `other` for one that the platform does not document; nil for none.
    package let reason: RejectionReason?
    /// The name of another interface than HTTP, whose statuses are others.
    package let interface: String?

    package init(status: Int, reason: RejectionReason?, interface: String? = nil) {
      self.status = status
      self.reason = reason
      self.interface = interface
    }

    static let others = Refusal(status: 0, reason: .other)
  }

  package internal(set) var accepted = 0
  private var refusals = BoundedCounts(others: Refusal.others)

  package init() {}

  package var refused: [Refusal: Int] { refusals.counts }

  mutating func refuse(_ refusal: Refusal) { refusals.count(refusal) }

  package mutating func add(_ more: AnswerCounts) {
    accepted += more.accepted
    refusals.add(more.refusals)
  }
}

/// Counts a server's answers by kind: `maximum` different ones, however many it invents, and the
/// rest together.
package struct BoundedCounts<Kind: Hashable & Sendable>: Sendable, Equatable {
  /// Each is a series of a metric, and a platform documents fewer.
  static var maximum: Int { 64 }

  package private(set) var counts: [Kind: Int]
  private let others: Kind

  /// - Parameter others: the kind of those that are too many.
  init(others: Kind, _ counts: [Kind: Int] = [:]) {
    self.counts = counts
    self.others = others
  }

  /// - Returns: whether it is the first of its kind.
  @discardableResult
  mutating func count(_ kind: Kind) -> Bool {
    let known = counts.count - (counts[others] == nil ? 0 : 1)
    let kept = counts[kind] != nil || known < Self.maximum ? kind : others
    counts[kept, default: 0] += 1
    return counts[kept] == 1
  }

  /// Keeps as many different ones as all routes and lanes do.
  mutating func add(_ more: Self) { counts.merge(more.counts) { $0 + $1 } }
}

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
