import Glibc

/// Kills the child when this process ends without having done so: its stdin is a pipe that closes
/// then.
final class Guardian: Sendable {
  private let processID: pid_t?
  private let lifeline: Int32

  init(of child: pid_t) {
    guard let pipe = try? Spawn.makePipe() else {
      processID = nil
      lifeline = -1
      return
    }
    lifeline = pipe.write
    processID = try? Spawn.start(["sh", "-c", "read line; kill -9 \(child)"]) { actions in
      posix_spawn_file_actions_adddup2(&actions, pipe.read, 0)
      posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
      posix_spawn_file_actions_adddup2(&actions, 1, 2)
    }
    close(pipe.read)
  }

  func dismiss() {
    if let processID {
      _ = Glibc.kill(processID, SIGKILL)
      var status: Int32 = 0
      while waitpid(processID, &status, 0) < 0, errno == EINTR {}
    }
    if lifeline >= 0 { close(lifeline) }
  }
}
