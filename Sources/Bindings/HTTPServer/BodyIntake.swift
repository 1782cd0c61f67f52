import EventLoop

/// A body on its way to whoever reads it while it comes, and whether it comes fast enough. Confined
/// to its connection.
final class BodyIntake {
  let stream: HTTPBodyStream
  /// When the exchange is given up, whatever comes; monotonic nanoseconds.
  let lastMoment: UInt64
  private let bounds: HTTPBodyBounds
  /// The client waits for us.
  var isHeldUp = false
  private var windowStart: UInt64
  private(set) var windowBytes = 0

  init(_ bounds: HTTPBodyBounds, now: UInt64) {
    self.bounds = bounds
    stream = HTTPBodyStream(maximumBytes: bounds.maximumBytes)
    lastMoment = now &+ bounds.limit.nanoseconds
    windowStart = now
  }

  func take(_ bytes: UnsafeRawBufferPointer) {
    windowBytes += bytes.count
    stream.append(bytes)
  }

  func beginWindow(now: UInt64) {
    windowStart = now
    windowBytes = 0
  }

  /// When it is looked at again.
  func deadline(window: Duration) -> UInt64 {
    isHeldUp ? lastMoment : min(lastMoment, windowStart &+ window.nanoseconds)
  }

  /// Why no more of it is read; nil begins another window.
  func complaint(now: UInt64, window: Duration) -> String? {
    guard now < lastMoment else {
      return "the body did not come within \(bounds.limit.components.seconds) s"
    }
    let least = Double(bounds.bytesPerSecond) * (window / .seconds(1))
    guard Double(windowBytes) >= least, windowBytes > 0 else {
      return "the body came more slowly than \(bounds.bytesPerSecond) bytes a second"
    }
    beginWindow(now: now)
    return nil
  }
}
