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
