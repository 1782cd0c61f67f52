/// The faults of whole connections that a script names, by the number of their messages.
package struct ConnectionFaults: Sendable, Equatable {
  /// Each connection gets a GOAWAY with NO_ERROR after so many messages.
  package var goAwayAfter: Int?
  /// So many of the messages before that GOAWAY are above its last stream: neither counted nor
  /// answered.
  package var goAwayBehind = 0
  /// Each connection closes at its message of this number, with all that is open on it.
  package var dropAfter: Int?
  /// Each connection answers nothing from its message of this number on.
  package var silentAfter: Int?

  package init() {}
}

/// The messages of one connection as its faults see them. Pure.
package struct ConnectionMessages: Sendable {
  package enum Step: Sendable, Equatable {
    case process
    /// The last one before the GOAWAY.
    case processAndGoAway
    /// It may be above the last stream of the GOAWAY that comes: wait for that, or `release`.
    case hold
    /// As above, and the GOAWAY comes now.
    case goAway
    /// It is above the last stream of a GOAWAY that was sent.
    case ignore
    /// The connection closes.
    case drop
  }

  package private(set) var count = 0
  /// The highest stream that was processed.
  package private(set) var lastStream: Int32 = 0
  /// Of the GOAWAY that was sent.
  package private(set) var goAwayStream: Int32?
  private var held: [(slot: Int, stream: Int32)] = []

  package init() {}

  /// A message is complete.
  package mutating func arrived(slot: Int, stream: Int32, _ faults: ConnectionFaults) -> Step {
    count += 1
    // Those below the GOAWAY's last stream may come to their end after it.
    if let last = goAwayStream { return stream <= last ? .process : .ignore }
    if let limit = faults.dropAfter, count >= limit { return .drop }
    guard let limit = faults.goAwayAfter else { return .process }
    guard count > limit - faults.goAwayBehind else {
      return count >= limit ? .processAndGoAway : .process
    }
    held.append((slot, stream))
    return count >= limit ? .goAway : .hold
  }

  package mutating func processed(_ stream: Int32) { lastStream = max(lastStream, stream) }

  /// Whether the connection answers nothing any more.
  package func isSilent(_ faults: ConnectionFaults) -> Bool {
    faults.silentAfter.map { count >= $0 } ?? false
  }

  /// A GOAWAY is sent now. Returns its last stream.
  package mutating func goesAway() -> Int32 {
    goAwayStream = lastStream
    return lastStream
  }

  /// Those that were held and that the client still waits for.
  package mutating func release(below last: Int32) -> [(slot: Int, stream: Int32)] {
    defer { held = [] }
    return held.filter { $0.stream < last }
  }
}
