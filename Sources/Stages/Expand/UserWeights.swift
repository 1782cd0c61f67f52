/// The size of a user's bindings and profile in the last page of a large event that a lane read.
/// The event's next segment begins with it, so that not each asks for a page that is too large
/// first. Of each event for itself: one with heavy users makes nobody else's pages short.
final class UserWeights {
  /// Large events that a lane has segments of at a time are fewer, as a rule.
  private static let maximumEvents = 16
  /// A shorter page says more of one user than of all, unless it says that they are lighter.
  private static let leastUsers = 32

  /// The oldest first.
  private var weights: [(event: String, bytes: Int)] = []

  /// Bytes; 0 before there was a page.
  func bytes(of event: String) -> Int { place(of: event).map { weights[$0].bytes } ?? 0 }

  private func place(of event: String) -> Int? {
    weights.firstIndex { $0.event == event }
  }

  func learn(_ bytes: Int, from users: Int, of event: String) {
    if let place = place(of: event) {
      if users >= Self.leastUsers || bytes < weights[place].bytes { weights[place].bytes = bytes }
    } else if users >= Self.leastUsers {
      if weights.count == Self.maximumEvents { weights.removeFirst() }
      weights.append((event, bytes))
    }
  }
}
