import EventLoop
import Processes
import Testing
import Threads

/// A run's processes: every wait ends, and none of them is left behind.
@Suite struct ChildProcessesTests {
  private static func run<T: Sendable>(
    isInterrupted: @escaping @Sendable () -> Bool = { false },
    _ body: @escaping @Sendable (ChildProcesses) async throws(LocalRunError) -> T
  ) async throws(LocalRunError) -> T {
    try await LocalRun.run("fanfare-test", isInterrupted: isInterrupted, body)
  }

  private static func shell(
    _ script: String, among processes: ChildProcesses, isNeeded: Bool = true
  ) throws(LocalRunError) -> RunProcess {
    try processes.start("shell", ["/bin/sh", "-c", script], isNeeded: isNeeded, isGuarded: false)
  }

  @Test func whatEndsByItselfIsWaitedFor() async throws {
    let ending = try await Self.run { processes throws(LocalRunError) in
      let process = try Self.shell("echo out; echo err >&2", among: processes)
      let ending = try await processes.finish(process, within: .seconds(30))
      guard ScratchDirectory.read(process.outputFile) == "out\n",
        ScratchDirectory.read(process.logFile) == "err\n"
      else { throw LocalRunError(.failed, "the output is not in its files") }
      return ending
    }
    #expect(ending.exitCode == 0 && ending.cpuMicroseconds > 0)
  }

  @Test func theEndOfANeededProcessEndsEveryWaitWithItsLastWords() async throws {
    let failure = await #expect(throws: LocalRunError.self) {
      try await Self.run { processes throws(LocalRunError) in
        _ = try Self.shell("echo no more >&2; exit 7", among: processes)
        _ = try await processes.wait("never", within: .seconds(60)) { nil as Bool? }
      }
    }
    #expect(failure?.kind == .failed)
    #expect(failure?.message == "shell ended with exit code 7")
    #expect(failure?.findings.last == "  no more")
  }

  @Test func aWaitHasAnEndOfItsOwn() async throws {
    let failure = await #expect(throws: LocalRunError.self) {
      try await Self.run { processes throws(LocalRunError) in
        let process = try Self.shell("echo here >&2; exec sleep 600", among: processes)
        _ = try await processes.wait("it spoke", within: .seconds(30)) {
          () throws(LocalRunError) -> Bool? in
          ScratchDirectory.read(process.logFile) == "here\n" ? true : nil
        }
        _ = try await processes.wait(
          "nothing happened", within: .milliseconds(20), blaming: process
        ) { nil as Bool? }
      }
    }
    #expect(failure?.message == "nothing happened within 20ms")
    #expect(failure?.findings.last == "  here")
  }

  @Test func anInterruptionEndsTheRunAndWhatItStarted() async throws {
    let isInterrupted = ThreadLock(false)
    let started = ThreadLock<Int32>(0)
    let failure = await #expect(throws: LocalRunError.self) {
      try await Self.run(
        isInterrupted: { isInterrupted.withLock { $0 } },
        { processes throws(LocalRunError) in
          let process = try Self.shell("exec sleep 600", among: processes)
          started.withLock { $0 = process.processID }
          isInterrupted.withLock { $0 = true }
          _ = try await processes.wait("never", within: .seconds(60)) { nil as Bool? }
        })
    }
    #expect(failure?.kind == .interrupted)
    let processID = started.withLock { $0 }
    #expect(processID > 0 && ProcessStatus.of(processID) == nil)
  }

  @Test func aRunsDirectoryGoesUnlessItIsKept() async throws {
    let gone = try await Self.run { processes in processes.directory.path }
    #expect(!ScratchDirectory.exists(gone))
    let named = ThreadLock("")
    let kept = try await LocalRun.run(
      "fanfare-test", isInterrupted: { false },
      keepDirectory: { path in named.withLock { $0 = path } },
      { processes in processes.directory.path })
    #expect(ScratchDirectory.exists(kept) && named.withLock { $0 } == kept)
    #expect(ProcessStatus.remove(kept))
  }
}
