import Processes
import Testing

@Suite struct CommandOutputTests {
  private static func run(
    _ arguments: String..., timeout: Duration = .seconds(60)
  ) async -> CommandOutput {
    await CommandOutput.of(arguments, maximumBytes: 1_000, timeout: timeout)
  }

  @Test func theOutputIsWhatAProgramPrints() async {
    let output = await Self.run("sh", "-c", "echo \"$1\"; echo no >&2", "sh", "a b")
    #expect(output == .output(Array("a b\n".utf8)))
    // A program that runs on in the background holds up nobody.
    #expect(await Self.run("sh", "-c", "sleep 2 & echo a") == .output(Array("a\n".utf8)))
  }

  @Test func theFirstLineOfErrorsSaysWhyThereIsNone() async {
    let failed = await Self.run("sh", "-c", "echo out; echo ' one' >&2; echo two >&2; exit 3")
    #expect(failed == .failed("exit code 3", said: "one"))
    #expect(await Self.run("sh", "-c", "kill -9 $$") == .failed("signal 9", said: ""))
    let missing = await Self.run("/nowhere/token")
    guard case .failed(let why, said: "") = missing else {
      Issue.record("\(missing)")
      return
    }
    #expect(why.contains("/nowhere/token cannot be started"))
  }

  @Test func aProgramThatWritesTooMuchIsKilled() async {
    #expect(await Self.run("yes") == .failed("writes more than 1000 bytes", said: ""))
  }

  @Test func aProgramThatTakesTooLongIsKilled() async {
    let output = await Self.run(
      "sh", "-c", "echo soon >&2; sleep 1000 & sleep 1000", timeout: .milliseconds(500))
    #expect(output == .failed("no end within 500ms", said: "soon"))
  }
}
