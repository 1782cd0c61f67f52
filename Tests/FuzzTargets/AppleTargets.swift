import APNs
import APNsSimulator
import Deliver
import Legacy
import SimulatorSupport
import Text

let appleTargets = [
  // The body of an answer; and the value of its Retry-After, behind an empty line.
  FuzzTarget("answer", maximumBytes: 1024) { input in
    let answer = Answer(body: Array(input))
    if let timestamp = answer.timestamp { try hold(answer.reason != nil || timestamp <= .max, "") }
    if let wait = RetryAfter.parse(input, now: fuzzTime) {
      try hold(wait >= .zero && wait <= RetryAfter.longest, "a wait of \(wait)")
    }
  },
  FuzzTarget("feedback", maximumBytes: 1024) { input in
    let whole = feedback(input, [0..<input.count])
    for cut in input.cuts { try hold(feedback(input, cut) == whole, "tuples differ in pieces") }
  },
  FuzzTarget("legacy-frame") { input in
    guard
      case .notification(let notification, let command, let count) =
        LegacyNotification.parse(Array(input)[...])
    else { return }
    try hold((1...input.count).contains(count), "\(count) of \(input.count) bytes")
    guard let bytes = notification.frame(command) else {
      throw BrokenProperty(description: "a frame that cannot be written: \(notification)")
    }
    try holdEqual(
      LegacyNotification.parse(bytes[...]),
      .notification(notification, command, byteCount: bytes.count), "a frame, written again")
    // Every beginning of it is one.
    for end in 0..<min(bytes.count, 64) {
      try holdEqual(LegacyNotification.parse(bytes[..<end]), .incomplete, "\(end) bytes of it")
    }
  },
  FuzzTarget("simulator-script") { input in
    do throws(SimulatorError) {
      _ = try SimulatorScript.parse(input)
    } catch {
      try hold(!"\(error)".isEmpty, "refused without words")
    }
  },
]

private struct Feedback: Equatable {
  var tuples: [FeedbackTuple] = []
  var failure: FeedbackReader.Failure?
}

private func feedback(_ input: UnsafeRawBufferPointer, _ pieces: [Range<Int>]) -> Feedback {
  var reader = FeedbackReader()
  var feedback = Feedback()
  do throws(FeedbackReader.Failure) {
    for piece in pieces { try reader.read(input[piece: piece], into: &feedback.tuples) }
    try reader.finish()
  } catch {
    feedback.failure = error
  }
  return feedback
}
