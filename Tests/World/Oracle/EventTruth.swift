/// What is known of an event of a life: what was asked, and when. Nanoseconds of the world; `.max`:
/// it was not.
struct EventTruth {
  let id: String
  let streamer: Int
  /// As it was first written.
  var document = ""
  /// Ms since 1970.
  var expiresAt: Int64 = .max
  /// When it was first written, and when that was confirmed.
  var begins = UInt64.max
  var begun = UInt64.max
  var cancelBegins = UInt64.max
  var cancelled = UInt64.max
  /// From the answer to the pause to the question to go on.
  var pauses: [(from: UInt64, to: UInt64)] = []
  /// When it was seen that nothing more is to come.
  var over = UInt64.max
  var state = ""

  init(id: String, streamer: Int) {
    self.id = id
    self.streamer = streamer
  }

  var isWritten: Bool { begins != .max }
  /// Whether more may come although it is over: workers end an event of which Redis has lost the
  /// notes, or Kafka records, with what they know of, and others still have segments of it.
  var mayGoOn: Bool { over != .max && state == "incomplete" }
}
