import CLinux
import Glibc
import Synchronization
import Threads

/// One thread around one epoll set: the executor that a lane is pinned to. It knows no protocol.
/// With a driver it has neither: the driver runs its turns, and gives it time and random numbers.
///
/// `execute` and `enqueue` may be called from any thread; everything else belongs to the loop's own
/// thread and traps elsewhere. A turn is: descriptors, then jobs and timers until none is left,
/// then the hooks of `atTurnEnd`, where connections write all that the turn produced in one go.
///
/// Unchecked: the state outside `inbox` is touched by the loop's thread alone, and `assertOnLoop`
/// says so.
package final class EventLoop: SerialExecutor, @unchecked Sendable {
  package let name: String
  /// Memory that handlers may read a descriptor into; its content is good until the handler
  /// returns.
  package let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 * 1024, alignment: 16)
  /// Monotonic nanoseconds, read once per turn and after a turn's descriptors.
  package private(set) var now: UInt64

  /// Tasks that must stay on the loop prefer this executor: see `task(on:_:)`.
  package let taskExecutor = LoopTaskExecutor()

  struct Job {
    let job: UnownedJob
    /// Of a task that prefers this loop. Such a job must run as that, and another one must not:
    /// else the task is put on the loop again wherever it could just go on.
    let isPreferred: Bool
  }

  private struct Inbox {
    var jobs: [Job] = []
    var work: [@Sendable () -> Void] = []
    var isWoken = false
    var isStopping = false
  }

  private let inbox = ThreadLock(Inbox())
  private let thread = ThreadLock<SystemThread?>(nil)
  /// Of a loop with a thread.
  private let poller: Poller?
  private let driver: (any LoopDriver)?
  /// Other threads ask `isOnLoop` while the loop's thread starts; 0 is nobody's.
  private let ownThread = Atomic<UInt>(0)
  private var localJobs: [Job] = []
  private var runningJobs: [Job] = []
  private var timers = TimerHeap()
  private var turnEnd: [() -> Void] = []
  private var runningHooks: [() -> Void] = []

  /// Starts the thread, unless there is a driver. Traps when the process may not open an epoll set:
  /// nothing can run then.
  package init(name: String, driver: (any LoopDriver)? = nil) {
    self.name = name
    self.driver = driver
    now = driver?.now ?? Self.monotonicNanoseconds()
    poller = driver == nil ? Poller() : nil
    taskExecutor.belong(to: self)
    if driver == nil { start() }
  }

  deinit {
    scratch.deallocate()
    // Nobody joined: the thread's stack goes when it ends. The last release may be on that thread
    // itself.
    thread.withLock { $0 }?.detach()
  }

  private func start() {
    guard poller != nil else { preconditionFailure("no descriptors left for an event loop") }
    // The thread keeps the loop alive until it ends.
    guard let started = SystemThread({ self.run() }) else {
      preconditionFailure("no thread for an event loop")
    }
    thread.withLock { $0 = started }
  }

  // MARK: from any thread

  package func enqueue(_ job: consuming ExecutorJob) {
    enqueue(Job(job: UnownedJob(job), isPreferred: false))
  }

  /// A job that asked for no executor.
  package func enqueueGlobal(_ job: UnownedJob) { enqueue(Job(job: job, isPreferred: false)) }

  func enqueue(_ job: Job) {
    if isOnLoop {
      localJobs.append(job)
      return
    }
    post { $0.jobs.append(job) }
  }

  package func execute(_ work: @escaping @Sendable () -> Void) {
    post { $0.work.append(work) }
  }

  /// Wakes the thread while it holds the lock: a job that the loop can see may be the last that
  /// kept the loop alive, for a task does not retain the executor that it is put on.
  private func post(_ add: (inout Inbox) -> Void) {
    inbox.withLock { inbox in
      add(&inbox)
      if !inbox.isWoken { wake() }
      inbox.isWoken = true
    }
  }

  private func wake() {
    if let poller { poller.wake() } else { driver?.wake(self) }
  }

  /// Asks the thread to end after this turn. Jobs that arrive later are not run: stop what uses the
  /// loop first.
  package func stop() {
    inbox.withLock {
      $0.isStopping = true
      $0.isWoken = true
    }
    wake()
  }

  /// Waits for the thread to end; not from the loop itself.
  package func join() {
    let joined = thread.withLock { thread in
      defer { thread = nil }
      return thread
    }
    joined?.join()
  }

  package var isOnLoop: Bool { ownThread.load(ordering: .relaxed) == pthread_self() }

  package func assertOnLoop() { precondition(isOnLoop, "called off the loop \(name)") }

  package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
    UnownedSerialExecutor(ordinary: self)
  }

  package func checkIsolated() { assertOnLoop() }

  package func isIsolatingCurrentContext() -> Bool? { isOnLoop }

  package static func monotonicNanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
  }

  // MARK: on the loop

  /// Runs `body` once, not before `delay`; never in the same turn.
  @discardableResult
  package func schedule(after delay: Duration, _ body: @escaping () -> Void) -> LoopTimer {
    assertOnLoop()
    let timer = LoopTimer(deadline: now &+ delay.nanoseconds, body: body)
    timers.insert(timer)
    return timer
  }

  /// Runs `body` once, when the jobs of this turn are done and before the loop waits again.
  package func atTurnEnd(_ body: @escaping () -> Void) { turnEnd.append(body) }

  /// Tells `handler` when `descriptor` is ready, level-triggered. The loop keeps the handler until
  /// `remove`.
  package func add(
    _ descriptor: Int32, _ interest: Interest, _ handler: any LoopHandler
  ) throws(LoopError) -> Registration {
    assertOnLoop()
    guard let poller else { preconditionFailure("loop \(name) has a driver and no descriptors") }
    return try poller.add(descriptor, interest, handler)
  }

  package func change(_ registration: Registration, to interest: Interest) {
    assertOnLoop()
    poller?.change(registration, to: interest)
  }

  package func remove(_ registration: Registration) {
    assertOnLoop()
    poller?.remove(registration)
  }

  private func run() {
    ownThread.store(pthread_self(), ordering: .relaxed)
    linux_set_thread_name(String(decoding: name.utf8.prefix(15), as: UTF8.self))
    while true {
      let next = turn()
      if case .over = next { break }
      poller?.wait(milliseconds: next.milliseconds(from: now))
    }
    end()
  }

  private func end() {
    poller?.removeAll()
    timers = TimerHeap()
    turnEnd = []
  }

  /// For the driver: one turn of the loop, which wakes itself again when it is busy.
  /// - Returns: the deadline of the first timer, which is due once that time is over; nil: there is
  ///   none.
  package func runTurn() -> UInt64? {
    ownThread.store(pthread_self(), ordering: .relaxed)
    defer { ownThread.store(0, ordering: .relaxed) }
    switch turn() {
    case .over:
      end()
      return nil
    case .busy:
      driver?.wake(self)
      return timers.nextDeadline
    case .idle(let until): return until
    }
  }

  private enum Next {
    case over, busy
    case idle(until: UInt64?)

    /// For epoll_wait: -1 when there is no timer; rounded up, so that a timer is due when the wait
    /// ends.
    func milliseconds(from now: UInt64) -> Int32 {
      guard case .idle(let until) = self else { return 0 }
      guard let until else { return -1 }
      return until > now ? Int32(clamping: (until - now + 999_999) / 1_000_000) : 0
    }
  }

  /// A loop with a driver watches no descriptors.
  var hasDriver: Bool { driver != nil }

  /// The time, of the driver if there is one.
  package var clock: UInt64 { driver?.now ?? Self.monotonicNanoseconds() }

  /// Any number, each time another; of the driver if there is one.
  package func randomNumber() -> UInt64 {
    driver?.randomNumber() ?? .random(in: .min ... .max)
  }

  /// 0..<1, from the same source.
  package func randomFraction() -> Double { Double(randomNumber() >> 11) / Double(1 << 53) }

  private func turn() -> Next {
    let start = clock
    now = start
    poller?.dispatch()
    var rounds = 0
    // Jobs may enqueue jobs; after some rounds the descriptors get their turn again.
    while takeJobs(), rounds < 64 {
      runJobs()
      rounds += 1
    }
    now = clock
    // As of the beginning: what this turn has scheduled is the next one's.
    for timer in timers.due(before: start) { timer.fire() }
    while takeJobs(), rounds < 64 {
      runJobs()
      rounds += 1
    }
    runHooks()
    let (hasMail, isStopping) = inbox.withLock { inbox in
      let hasMail = !inbox.jobs.isEmpty || !inbox.work.isEmpty
      inbox.isWoken = hasMail
      return (hasMail, inbox.isStopping)
    }
    if isStopping { return .over }
    let isBusy = hasMail || !localJobs.isEmpty || !turnEnd.isEmpty
    return isBusy ? .busy : .idle(until: timers.nextDeadline)
  }

  private func runHooks() {
    guard !turnEnd.isEmpty else { return }
    swap(&turnEnd, &runningHooks)
    for hook in runningHooks { hook() }
    runningHooks.removeAll(keepingCapacity: true)
  }

  private func takeJobs() -> Bool {
    let work = inbox.withLock { inbox -> [@Sendable () -> Void] in
      if !inbox.jobs.isEmpty {
        localJobs.append(contentsOf: inbox.jobs)
        inbox.jobs.removeAll(keepingCapacity: true)
      }
      guard !inbox.work.isEmpty else { return [] }
      defer { inbox.work.removeAll() }
      return inbox.work
    }
    for item in work { item() }
    return !localJobs.isEmpty
  }

  private func runJobs() {
    swap(&localJobs, &runningJobs)
    let (serial, preferred) = (asUnownedSerialExecutor(), taskExecutor.asUnownedTaskExecutor())
    for item in runningJobs {
      if item.isPreferred {
        item.job.runSynchronously(isolatedTo: serial, taskExecutor: preferred)
      } else {
        item.job.runSynchronously(on: serial)
      }
    }
    runningJobs.removeAll(keepingCapacity: true)
  }
}

extension Duration {
  /// Whole nanoseconds, 0 for negative durations, at most about 584 years.
  package var nanoseconds: UInt64 {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    let (scaled, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
    return overflow || scaled > .max / 2
      ? .max / 2 : scaled &+ UInt64(attoseconds / 1_000_000_000)
  }
}

/// Runs the turns of loops that have no thread, and gives them time and numbers. A simulation is
/// one: then several loops take turns on its thread, and time passes when it says so.
package protocol LoopDriver: AnyObject, Sendable {
  /// Monotonic nanoseconds.
  var now: UInt64 { get }

  /// Any number, each time another.
  func randomNumber() -> UInt64

  /// The loop has something to do: the driver is to call `EventLoop.runTurn` soon, after this call
  /// has returned.
  func wake(_ loop: EventLoop)
}

/// Where tasks go on that never leave a loop's thread. A task that waits for a continuation, or for
/// another task, is resumed where it prefers to run, and only then goes back to its actor: without
/// a preference that is a thread of the global pool, so that each answer of Redis would wake two
/// threads and cost a job in each.
///
/// Unchecked: the loop is named before anybody else has this.
package final class LoopTaskExecutor: TaskExecutor, @unchecked Sendable {
  /// A loop that is gone has run its last job.
  private weak var loop: EventLoop?

  func belong(to loop: EventLoop) { self.loop = loop }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    loop?.enqueue(EventLoop.Job(job: job, isPreferred: true))
  }
}

extension EventLoop {
  /// A task of an actor of this loop, on which the caller is. `body` may hold what belongs to the
  /// actor, and goes on here after each wait.
  @discardableResult
  package func task<T: Sendable>(
    on actor: isolated any Actor, _ body: @escaping () async throws -> T
  ) -> Task<T, any Error> {
    assertOnLoop()
    // It is called by nobody but the actor, from whose region it comes.
    nonisolated(unsafe) let body = body
    return Task(executorPreference: taskExecutor) { try await Self.run(body, on: actor) }
  }

  /// As above, for what does not fail.
  @discardableResult
  package func task<T: Sendable>(
    on actor: isolated any Actor, _ body: @escaping () async -> T
  ) -> Task<T, Never> {
    assertOnLoop()
    nonisolated(unsafe) let body = body
    return Task(executorPreference: taskExecutor) { await Self.run(body, on: actor) }
  }

  private static func run<T: Sendable>(
    _ body: () async throws -> T, on actor: isolated any Actor
  ) async rethrows -> T {
    try await body()
  }
}
