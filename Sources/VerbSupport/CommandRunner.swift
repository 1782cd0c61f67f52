import EventLoop
import Glibc
import Telemetry
import Terminal

package enum CommandRunner {
  private static let clock = CommandClock(
    wallMilliseconds: { WallClock.nowMilliseconds() },
    monotonicNanoseconds: { MonotonicClock.nowNanoseconds() })

  /// Runs the program on a loop of its own and ends the process with its code.
  ///
  /// Not on the main actor: the runtime gives its jobs to threads that libdispatch ends when they
  /// are idle, and the kernel takes the end of the thread that started a child for the parent's
  /// death (`--die-with-parent`). The loop's thread lives as long as the process.
  package static func run(_ program: Program, _ arguments: [String]) -> Never {
    Console.ignoreBrokenPipes()
    let loop = EventLoop(name: program.name)
    Task.detached {
      let code = await LoopActor(loop).run { (actor: isolated LoopActor) async in
        let output = Console.standardOutput()
        let errors = Console.standardError()
        let code = await program.execute(arguments, clock: clock, output: output, errors: errors)
        guard code == .ok, let failure = output.failure else { return code }
        errors.line("\(program.name): standard output cannot be written: \(failure)")
        return .failed
      }
      // Without the handlers of exit(3): OpenSSL's takes apart what other threads may still use.
      fflush(nil)
      _exit(code.rawValue)
    }
    // Nobody stops the loop: the process ends above.
    loop.join()
    exit(ExitCode.failed.rawValue)
  }
}
