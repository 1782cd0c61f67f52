import Terminal
import Threads

/// One run of a verb, with everything that it printed.
struct VerbRun {
  let code: ExitCode
  let text: String

  /// - Parameter now: ms since 1970.
  init(_ verb: Verb, _ words: [String], now: Int64 = 1_795_248_000_000) async {
    let said = ThreadLock("")
    let console = Console(capabilities: .plain, width: { nil }) { bytes in
      said.withLock { $0 += String(decoding: bytes, as: UTF8.self) }
      return true
    }
    let program = Program(name: "fanfare", summary: "Requests", version: "0", verbs: [verb])
    code = await program.execute(
      words, clock: CommandClock(wallMilliseconds: { now }, monotonicNanoseconds: { 0 }),
      output: console, errors: console)
    text = said.withLock { $0 }
  }
}
