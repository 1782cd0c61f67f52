import EventLoop

/// Whether the threads of a process do anything. One look at a time: a thread that is stuck keeps
/// one look waiting, not one for each probe.
actor ThreadLiveness {
  private let loop: EventLoop
  private let limit: Duration
  private let ticks: @Sendable () async -> Void
  private var isLooking = false
  private var waiting: [Int: CheckedContinuation<Bool, Never>] = [:]
  private var lastNumber = 0

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  init(loop: EventLoop, limit: Duration, ticks: @escaping @Sendable () async -> Void) {
    self.loop = loop
    self.limit = limit
    self.ticks = ticks
  }

  /// False when they have not within the limit.
  func areAlive() async -> Bool {
    lastNumber += 1
    let number = lastNumber
    loop.schedule(after: limit) { [weak self] in
      self?.assumeIsolated { $0.waiting.removeValue(forKey: number)?.resume(returning: false) }
    }
    if !isLooking {
      isLooking = true
      Task {
        await ticks()
        isLooking = false
        for waiter in waiting.values { waiter.resume(returning: true) }
        waiting = [:]
      }
    }
    return await withCheckedContinuation { waiting[number] = $0 }
  }
}
