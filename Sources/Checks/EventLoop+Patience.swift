import EventLoop

extension EventLoop {
  private static var pause: Duration { .milliseconds(20) }

  /// Looks every now and then, and returns when the condition holds or the time is over.
  func wait(upTo limit: Duration, until condition: () -> Bool) async {
    var left = limit
    while left > .zero, !condition() {
      await wait(Self.pause)
      left -= Self.pause
    }
  }
}
