import Glibc
import Threads

/// posix_spawn(3).
enum Spawn {
  /// Between a pipe's making and its close-on-exec mark no child may start and inherit it.
  private static let exclusive = ThreadLock(())

  static func makePipe() throws(LocalRunError) -> (read: Int32, write: Int32) {
    try exclusive.withLock { _ throws(LocalRunError) in
      var ends: [Int32] = [-1, -1]
      guard Glibc.pipe(&ends) == 0 else {
        throw LocalRunError(.failed, "no pipe: errno \(errno)")
      }
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      return (ends[0], ends[1])
    }
  }

  static func start(
    _ arguments: [String], environment: [String: String] = [:], leadsGroup: Bool = false,
    redirect: (inout posix_spawn_file_actions_t) -> Void
  ) throws(LocalRunError) -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    redirect(&actions)
    guard let program = arguments.first else { throw LocalRunError(.failed, "no program named") }
    var argv: [UnsafeMutablePointer<CChar>?] = Executable.arguments(arguments)
    var envp = inherited(environment)
    defer { for text in argv + envp { free(text) } }
    // The child starts with default signals, whatever this process has done to its own.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    for number in [SIGPIPE, SIGTERM, SIGINT, SIGHUP] { sigaddset(&signals, number) }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setpgroup(&attributes, 0)
    let group = leadsGroup ? Int16(POSIX_SPAWN_SETPGROUP) : 0
    posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF) | group)
    var processID: pid_t = 0
    let result = exclusive.withLock { _ in
      posix_spawnp(&processID, program, &actions, &attributes, &argv, &envp)
    }
    guard result == 0 else {
      throw LocalRunError(
        .failed, "\(program) cannot be started: \(String(cString: strerror(result)))")
    }
    return processID
  }

  private static func inherited(_ added: [String: String]) -> [UnsafeMutablePointer<CChar>?] {
    var entries: [UnsafeMutablePointer<CChar>?] = []
    var next = environ
    while let entry = next.pointee {
      let name = String(cString: entry).prefix { $0 != "=" }
      if added[String(name)] == nil { entries.append(strdup(entry)) }
      next += 1
    }
    return entries + added.map { strdup("\($0.key)=\($0.value)") } + [nil]
  }
}
