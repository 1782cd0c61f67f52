import Glibc
import LocalVerbs
import Processes
import Terminal
import Testing
import Threads

/// `fanfare simulator --self-test`.
@Suite struct SelfTestTests {
  @Test func aSimulatorAnswersAsItMust() async throws {
    let ended = try await run()
    #expect(ended.code == .ok && ended.text.hasSuffix(" 0 answered wrongly\n"), "\(ended.text)")
    #expect(ended.text.contains("POST /3/device/") && ended.text.contains("/4/broadcasts/apps/"))
    #expect(!ended.text.contains("must be"))
  }

  @Test func theOneOfFCMAnswersAsItMust() async throws {
    let ended = try await run("--platform", "fcm")
    #expect(ended.code == .ok && ended.text.hasSuffix(" 0 answered wrongly\n"), "\(ended.text)")
    #expect(ended.text.contains("POST /v1/projects/") && ended.text.contains("POST /token"))
    #expect(!ended.text.contains("must be"))
  }

  @Test func theOneOfBrowsersAnswersAsItMust() async throws {
    let ended = try await run("--platform", "webpush")
    #expect(ended.code == .ok && ended.text.hasSuffix(" 0 answered wrongly\n"), "\(ended.text)")
    for word in ["google: a TTL is needed", "POST /wpush/v2/", "400 errno 111", "403 BadJwtToken"] {
      #expect(ended.text.contains(word), "\(word)")
    }
    #expect(!ended.text.contains("must be"))
  }

  @Test func oneOfBrowsersThatDoesNotIsTold() async throws {
    let ended = try await run("--platform", "webpush", "--longest-ttl", "1h")
    #expect(ended.code == .failed, "\(ended.text)")
    #expect(ended.text.contains("must be 201 with ttl: 2592000"), "\(ended.text)")
  }

  @Test func oneOfFCMThatDoesNotIsTold() async throws {
    let ended = try await run("--platform", "fcm", "--access-token-lifetime", "2h")
    #expect(ended.code == .failed, "\(ended.text)")
    #expect(ended.text.contains("must be 200 with an access token"), "\(ended.text)")
  }

  @Test func oneThatDoesNotIsTold() async throws {
    let ended = try await run("--no-provider-token")
    #expect(ended.code == .failed, "\(ended.text)")
    #expect(ended.text.contains("must be 403 MissingProviderToken"), "\(ended.text)")
  }

  private func run(_ words: String...) async throws -> (code: ExitCode, text: String) {
    let directory = try ScratchDirectory()
    let said = ThreadLock("")
    let console = Console(capabilities: .plain, width: { nil }) { bytes in
      said.withLock { $0 += String(decoding: bytes, as: UTF8.self) }
      return true
    }
    let program = Program(
      name: "fanfare", summary: "Self-test", version: "0", verbs: [SimulatorVerb.verb])
    let code = await program.execute(
      ["simulator", "--directory", directory.file("apns"), "--self-test"] + words,
      clock: CommandClock(
        wallMilliseconds: { Int64(time(nil)) * 1_000 }, monotonicNanoseconds: { 0 }),
      output: console, errors: console)
    return (code, said.withLock { $0 })
  }
}
