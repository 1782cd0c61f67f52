/// The life of one connection, as a pure machine: what may happen when, and what follows.
///
/// ```
/// connecting ─opened→ greeting ─settings→ open ─goAway, retire→ draining ─drained→ closed
///      └──────────────────┴── lost, silent (anywhere) ──→ closed
/// ```
package struct ConnectionMachine: Sendable, Equatable {
  package enum Phase: Sendable, Equatable, CaseIterable {
    /// TCP and TLS are being set up.
    case connecting
    /// Open; the server's SETTINGS have not come yet, so that nobody knows how many streams it
    /// takes.
    case greeting
    case open
    /// Takes no new pushes; those in flight are waited for.
    case draining
    case closed
  }

  package enum Event: Sendable, Equatable, CaseIterable {
    case opened
    case settings
    /// The server says it takes no more streams.
    case goAway
    /// We want no more streams on it (a credential that is too old, a server that shuts down).
    case retire
    /// No stream is left in flight.
    case drained
    /// The transport or the protocol failed, or the server closed.
    case lost
    /// A PING was not answered in time.
    case silent
    case stop
  }

  package enum Action: Sendable, Equatable {
    case none
    /// Pushes may be sent from now on.
    case becomeReady
    /// Open another connection in this one's slot; this one goes on for what is in flight.
    case replace
    /// Close; what is in flight goes back to be sent again, and the slot is to be filled again.
    case closeAndReplace
    /// Close; the slot was filled before, or needs no more.
    case close
  }

  package private(set) var phase = Phase.connecting

  package init() {}

  package mutating func handle(_ event: Event) -> Action {
    switch (phase, event) {
    case (.closed, _): return .none
    case (_, .stop): return move(.closed, .close)
    case (.draining, .lost), (.draining, .silent), (.draining, .drained):
      return move(.closed, .close)
    case (_, .lost), (_, .silent): return move(.closed, .closeAndReplace)
    case (.connecting, .opened): return move(.greeting, .none)
    case (.greeting, .settings): return move(.open, .becomeReady)
    case (.greeting, .goAway), (.greeting, .retire), (.open, .goAway), (.open, .retire):
      return move(.draining, .replace)
    // A change of settings, nothing in flight for the moment, or a repetition.
    case (.open, .settings), (.draining, .settings), (.draining, .goAway), (.draining, .retire),
      (_, .drained), (_, .opened), (.connecting, _):
      return .none
    }
  }

  private mutating func move(_ next: Phase, _ action: Action) -> Action {
    phase = next
    return action
  }
}
