/// How many connections opened and ended, and why: what a server, and we, make of them.
package struct ConnectionCounts: Sendable, Equatable {
  package enum End: String, Sendable, CaseIterable {
    /// The server's GOAWAY.
    case goAway = "goaway"
    /// A reason of ours: other credentials, too many for the load.
    case retired
    /// It had had nothing to do for a while when it ended.
    case idle
    /// It was open, and ended without a word, or without a sign of life.
    case lost
    /// It came to nothing: refused, or not open in time.
    case unreachable
  }

  package private(set) var opened = 0
  private var ended = [Int](repeating: 0, count: End.allCases.count)

  package init() {}

  package subscript(_ end: End) -> Int {
    get { ended[Self.index(end)] }
    set { ended[Self.index(end)] = newValue }
  }

  private static func index(_ end: End) -> Int { End.allCases.firstIndex(of: end) ?? 0 }

  mutating func countOpened() { opened += 1 }

  /// - Parameter drains: it takes no more pushes, and is still there.
  mutating func count(_ connection: any PushConnection, _ end: ConnectionPlace.End, drains: Bool) {
    let why: End =
      if connection.wasSentAway {
        .goAway
      } else if drains {
        .retired
      } else if !connection.wasOpened {
        .unreachable
      } else {
        end == .idle ? .idle : .lost
      }
    self[why] += 1
  }

  package mutating func add(_ more: ConnectionCounts) {
    opened += more.opened
    for end in End.allCases { self[end] += more[end] }
  }
}
