import Devices
import Terminal
import Testing
import Threads

@testable import DeviceVerbs

/// What is wrong with a command line is told before Redis is asked: nobody is there.
@Suite struct RefusalTests {
  private static let encoded = "ABEiM0RVZnf4+fr7/P3+/wARIjNEVWZ3iJmqu8zd7v8="
  private static let device = ["--app", "com.example.live", "--token"]

  @Test(arguments: [
    (["device", "bind", "a{b"] + device + ["aabb"], "user must be 1…128 bytes"),
    (["device", "bind", "u1"] + device + ["aab"], "--token must be an even number of hex digits"),
    (["device", "bind", "u1"] + device + [encoded], "as hex it is 0011223344556677f8f9"),
    (["device", "bind", "u1", "--token", "aabb", "--app", "a b"], "--app must be a bundle id"),
    (["device", "bind", "u1", "--token", "aabb"], "--app"),
    (["device", "unbind", "u1", "--token", "{length = 32, bytes = 0xd3d9 ... }"], "%02x"),
    (["device", "unbind", "u1", "--token", "aa", "--app", ""], "--app must be"),
    (["device", "replace", "u1", "--old", "xyz"] + device + ["aa"], "--old must be hex digits"),
    (["device", "list", ""], "user must be"),
    (["device", "restore", "--token", encoded], "as hex it is 0011"),
    (["user", "profile", "u1", "--tz", "over there"], "tz must be an IANA name"),
    (["user", "profile", "u1", "--quiet", "22-7"], "quiet must be hours"),
    (["user", "profile", "u1", "--locale", "j"], "locale must be a language tag"),
    (["user", "profile", "u1", "--badge", "many"], "badge must be a whole number"),
    (["user", "profile", "u1", "--name", "x", "--clear", "name"], "name must be given once"),
    (["user", "profile", "u1", "--mute", "s:1:2"], "--mute must be"),
    (["user", "forget", "u1", "--streamer", "a{"], "--streamer must be"),
    (["follow", "u1", "s:1:2"], "streamer must be"),
    (["follow", "u1", "s1", "--mute", "--unmute"], "do not go together"),
    (["unfollow", "u1"], "streamer"), (["audience", "show", "s:1:2"], "streamer must be"),
  ])
  func isTheCommandLinesFault(_ words: [String], _ complaint: String) async throws {
    let ended = await run(words)
    #expect(ended.code == .usage, "\(ended.errors)")
    #expect(ended.errors.contains(complaint), "\(ended.errors)")
  }

  private func run(_ words: [String]) async -> (code: ExitCode, errors: String) {
    let said = ThreadLock("")
    let program = Program(
      name: "fanfare", summary: "Devices", version: "0",
      verbs: [
        AudienceVerb.verb, DeviceVerb.verb, UserVerb.verb, FollowVerb.follow, FollowVerb.unfollow,
      ])
    let silent = Console(capabilities: .plain, width: { nil }, write: { _ in true })
    let errors = Console(capabilities: .plain, width: { nil }) { bytes in
      said.withLock { $0 += String(decoding: bytes, as: UTF8.self) }
      return true
    }
    let code = await program.execute(
      words,
      clock: CommandClock(wallMilliseconds: { 1_795_248_000_000 }, monotonicNanoseconds: { 0 }),
      output: silent, errors: errors)
    return (code, said.withLock { $0 })
  }
}
