import Processes
import Terminal
import Testing

@testable import LocalVerbs

@Suite struct LocalVerbRunTests {
  @Test(arguments: [
    (LocalRunError.Kind.failed, ExitCode.failed), (.unavailable, .unavailable),
    (.configuration, .config), (.interrupted, .retryLater),
  ])
  func localRunsHaveACodeForEachKind(kind: LocalRunError.Kind, code: ExitCode) async {
    let failure = await #expect(throws: CommandFailure.self) {
      try await CommandFailure.from { () async throws(LocalRunError) in
        throw LocalRunError(kind, "no", findings: ["a"])
      }
    }
    #expect(failure?.code == code && failure?.message == "no" && failure?.findings == ["a"])
  }
}
