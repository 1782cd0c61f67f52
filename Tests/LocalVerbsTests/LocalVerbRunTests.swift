import LocalStack
import Terminal
import Testing

@testable import LocalVerbs

@Suite struct LocalVerbRunTests {
  @Test(arguments: [
    (LocalStackError.Kind.failed, ExitCode.failed), (.unavailable, .unavailable),
    (.configuration, .config), (.interrupted, .retryLater),
  ])
  func localRunsHaveACodeForEachKind(kind: LocalStackError.Kind, code: ExitCode) async {
    let failure = await #expect(throws: CommandFailure.self) {
      try await CommandFailure.from { () async throws(LocalStackError) in
        throw LocalStackError(kind, "no", findings: ["a"])
      }
    }
    #expect(failure?.code == code && failure?.message == "no" && failure?.findings == ["a"])
  }
}
