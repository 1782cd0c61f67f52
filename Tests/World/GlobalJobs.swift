import EventLoop
import Glibc

/// Jobs that no loop asked for: without a world they run on the threads of Swift's global pool. In
/// a world's thread they run on its loop `pool`, so that nothing happens beside the world's order.
enum GlobalJobs {
  private typealias Original = @convention(thin) (UnownedJob) -> Void
  private typealias Hook = @convention(thin) (UnownedJob, Original) -> Void

  /// The pool of the world that this thread runs.
  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    pthread_key_create(&key, nil)
    return key
  }()

  /// Runs `body` as the life of a world on this thread.
  static func run<T>(on pool: EventLoop, _ body: () throws -> T) rethrows -> T {
    install
    pthread_setspecific(key, Unmanaged.passUnretained(pool).toOpaque())
    // The world may let go of it before.
    defer { withExtendedLifetime(pool) { _ = pthread_setspecific(key, nil) } }
    return try body()
  }

  /// Once for the process: the runtime asks this before it puts a job on the global pool.
  private static let install: Void = {
    guard let symbol = dlsym(nil, "swift_task_enqueueGlobal_hook") else {
      preconditionFailure("this Swift runtime has no hook for global jobs")
    }
    let hook = symbol.assumingMemoryBound(to: Hook?.self)
    hook.pointee = { job, original in
      guard let pool = pthread_getspecific(GlobalJobs.key) else { return original(job) }
      Unmanaged<EventLoop>.fromOpaque(pool).takeUnretainedValue().enqueueGlobal(job)
    }
  }()
}
