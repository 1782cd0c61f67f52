/// Whether a server makes a connection pay for what it rejected on it. Apple counts the errors of a
/// connection, all 4xx but 410: too many end it, BadDeviceToken sooner than others ("Handling
/// notification responses from APNs"); providers report that its limit of streams falls first, down
/// to one. A server that takes less for being busy is another matter: it is obeyed. A pure machine.
struct StreamCut: Equatable {
  private var most = 0
  private var streams = 0
  private var hasErrors = false
  /// Monotonic nanoseconds; 0: never.
  private var loweredAt: UInt64 = 0

  /// The server's SETTINGS have come.
  mutating func limited(to streams: Int, at now: UInt64) {
    if streams < self.streams { loweredAt = now }
    self.streams = streams
    most = max(most, streams)
  }

  mutating func answered(status: Int) {
    if (400...499).contains(status), status != 410 { hasErrors = true }
  }

  /// It may have half as many streams as before, or less.
  var isCut: Bool { hasErrors && streams <= most / 2 && most > 1 }

  /// A push was on its way when the limit fell: that it is refused says nothing of it, and nothing
  /// of how much the server takes.
  func wasOnItsWay(sentAt: UInt64) -> Bool { sentAt <= loweredAt }

  /// - Parameter wasSentAway: the server said GOAWAY.
  func isPunished(wasSentAway: Bool) -> Bool { isCut || (hasErrors && wasSentAway) }
}
