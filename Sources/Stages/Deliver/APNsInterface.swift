/// How a server is spoken to.
package enum APNsInterface: Sendable, Equatable {
  case http2
  /// The legacy binary interface, which Apple retired on 2021-03-31. What its gateway has had for
  /// so long without a word is taken for accepted. Each connection numbers its pushes from the
  /// first identifier on.
  case binary(acceptedAfter: Duration, firstIdentifier: UInt32 = 1)

  /// How long a push that is taken has no answer for want of any.
  var silence: Duration {
    switch self {
    case .http2: .zero
    case .binary(let acceptedAfter, _): acceptedAfter
    }
  }
}
