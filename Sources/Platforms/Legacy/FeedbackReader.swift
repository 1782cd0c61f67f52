import Text

/// Reads a feedback service's stream, in pieces of any size.
package struct FeedbackReader: Sendable {
  package enum Failure: Error, Equatable {
    /// A length of no token, or beyond any.
    case badLength(Int)
    /// The stream ended within a tuple.
    case cutShort
  }

  private static let headBytes = 6
  private var rest: [UInt8] = []

  package init() {}

  /// Adds the tuples that are whole now, also those before a failure. After one nothing of the
  /// stream can be read.
  package mutating func read(
    _ bytes: UnsafeRawBufferPointer, into tuples: inout [FeedbackTuple]
  ) throws(Failure) {
    rest += bytes
    var place = 0
    while rest.count - place >= Self.headBytes {
      let length = Int(BigEndian.number(rest[(place + 4)..<(place + 6)]))
      guard (1...LegacyNotification.maximumTokenBytes).contains(length) else {
        throw .badLength(length)
      }
      let start = place + Self.headBytes
      guard rest.count - start >= length else { break }
      tuples.append(
        FeedbackTuple(
          seconds: BigEndian.number(rest[place..<(place + 4)]),
          token: Array(rest[start..<(start + length)])))
      place = start + length
    }
    rest.removeFirst(place)
  }

  /// The service has closed the stream.
  package func finish() throws(Failure) { if !rest.isEmpty { throw .cutShort } }
}

/// A device token that the feedback service says is gone (Apple, "Binary Provider API", "The
/// Feedback Service"): four bytes of time, two of length, and the token.
package struct FeedbackTuple: Sendable, Equatable {
  /// Seconds since 1970: when APNs found that the app is no longer on the device. HTTP/2 says the
  /// same in milliseconds.
  package let seconds: UInt32
  package let token: [UInt8]

  package init(seconds: UInt32, token: [UInt8]) {
    self.seconds = seconds
    self.token = token
  }

  /// The second's beginning: a binding of the same second may be younger than the word on it, and
  /// stays.
  package var milliseconds: Int64 { Int64(seconds) * 1000 }

  package var hexToken: String { Hexadecimal.text(token) }
}
