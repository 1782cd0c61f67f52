/// How many connections opened and ended, and why: what a server, and we, make of them.
package struct ConnectionCounts: Sendable, Equatable {
  package enum End: String, Sendable, CaseIterable {
    /// The server's GOAWAY, or an answer of HTTP/1.1 with which it ended the connection.
    case goAway = "goaway"
    /// A reason of ours: other credentials, too many for the load, nothing left to do.
    case retired
    /// The server closed it, which had had nothing to do for a while.
    case idle
    /// It was connected, and the server closed it or gave no sign of life.
    case lost
    /// TCP or TLS came to nothing.
    case unreachable
  }

  /// That were ready for pushes.
  package internal(set) var opened = 0
  private var ended: [End: Int] = [:]

  package init() {}

  package subscript(_ end: End) -> Int {
    get { ended[end] ?? 0 }
    set { ended[end] = newValue }
  }

  /// - Parameter drains: it takes no more pushes, and is still there.
  mutating func count(_ connection: any PushConnection, _ end: ConnectionSlot.End, drains: Bool) {
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
