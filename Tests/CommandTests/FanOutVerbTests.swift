import Fixtures
import JSON
import ServerProcesses
import Testing

/// `fanout` as a process, against a real redis-server.
@Suite struct FanOutVerbTests {
  private let redis: RedisServerProcess

  init() throws { redis = try RedisServerProcess() }

  private func begin(_ event: String, state: String = "running", _ more: String...) throws {
    try redis.cli("XADD", "ff:{stats}:fanouts", "*", "event", event)
    for pair in [["state", state], ["streamer", "s42"], ["started_ms", "1"]] {
      try redis.cli("HSET", "ff:{e:\(event)}", pair[0], pair[1])
    }
    for index in stride(from: 0, to: more.count, by: 2) {
      try redis.cli("HSET", "ff:{e:\(event)}", more[index], more[index + 1])
    }
  }

  private func fanOut(_ arguments: String...) throws -> (code: Int32, text: String) {
    let process = try Command.start(["fanout"] + arguments + ["--set", "redis.port=\(redis.port)"])
    let text = process.readToEnd()
    return (process.waitForExit(), text)
  }

  @Test func showsWhatThereIs() throws {
    #expect(try fanOut("list").code == 0)
    try begin("e1", state: "done", "pushes", "1234", "accepted", "1000", "rejected", "234")
    try begin("e2", "brake", "paused", "segments", "8", "settled", "3")
    let list = try fanOut("list")
    let lines = list.text.split(separator: "\n").map(String.init)
    #expect(list.code == 0 && lines.count == 3)
    #expect(lines[1].hasPrefix("e2") && lines[1].contains("paused") && lines[1].contains("3/8"))
    #expect(lines[2].hasPrefix("e1") && lines[2].contains("done") && lines[2].contains("1,234"))
    #expect(try fanOut("list", "--limit", "1").text.split(separator: "\n").count == 2)
    let first = try fanOut("list", "--json").text.split(separator: "\n").first
    let object = try JSONValue.parse(Array((first ?? "").utf8)).object
    #expect(object?["event"]?.string == "e2" && object?["brake"]?.string == "paused")
    #expect(object?["segments"]?.integer == 8)
    #expect(try fanOut("status", "e1").text.contains("1,234"))
    for order in ["status", "pause", "resume", "cancel"] {
      let unknown = try fanOut(order, "nope")
      #expect(unknown.code == 5 && unknown.text.contains("nope"), "\(order): \(unknown.text)")
    }
    // A script's variable that is not set, and something that is no id at all.
    #expect(try fanOut("status", "").code == 64)
    let long = try fanOut("status", String(repeating: "x", count: 5_000))
    #expect(long.code == 5 && long.text.count < 300)
  }

  @Test(arguments: [
    ("done", "", Int32(0)), ("incomplete", "", 3), ("expired", "", 3), ("done", "cancelled", 4),
  ])
  func aWatchEndsAsTheFanOutDid(state: String, halt: String, code: Int32) throws {
    try begin("e1", state: state, "brake", halt, "pushes", "1234", "accepted", "1234")
    let said = try fanOut("status", "e1", "--watch")
    #expect(said.code == code, "\(said.text)")
    #expect(said.text.contains("e1  100%  1,234/1,234"), "\(said.text)")
    #expect(said.text.contains("accepted"), "\(said.text)")
  }

  @Test func aWatchTellsEachChangeUntilTheTimeIsOver() throws {
    try begin("e1", "segments", "4", "settled", "1", "pushes", "100")
    let process = try Command.start([
      "fanout", "status", "e1", "--watch", "--timeout", "60s", "--set", "redis.port=\(redis.port)",
    ])
    var said = process.readSome() ?? ""
    #expect(said.contains("e1  25%  100/400") && said.contains("1 of 4 segments"), "\(said)")
    try redis.cli("HSET", "ff:{e:e1}", "settled", "2")
    said = process.readSome() ?? ""
    #expect(said.contains("2 of 4 segments"), "\(said)")
    try redis.cli("HSET", "ff:{e:e1}", "state", "done")
    let rest = process.readToEnd()
    #expect(process.waitForExit() == 0, "\(rest)")
    let short = try fanOut("status", "e1", "--watch", "--json")
    #expect(short.code == 0 && short.text.hasPrefix("{\"event\":\"e1\""), "\(short.text)")
    try begin("e2")
    let late = try fanOut("status", "e2", "--watch", "--timeout", "1s")
    #expect(late.code == 6, "\(late.text)")
    let unknown = try fanOut("status", "nope", "--watch", "--timeout", "1s")
    #expect(unknown.code == 5 && unknown.text.contains("waiting for a worker"), "\(unknown.text)")
  }

  /// The time to find Redis is a part of the watch's.
  @Test func aRedisThatIsAwayTakesNoLongerThanTheWatch() throws {
    let nobody = try DeadPort.number
    let said = try Command.run(
      "fanout", "status", "e1", "--watch", "--timeout", "1s", "--set", "redis.port=\(nobody)")
    #expect(said.code == 69 && said.text.contains("within 1s"), "\(said.text)")
  }

  @Test func writesTheHalt() throws {
    try begin("e1")
    func halt() throws -> String { try redis.cli("HGET", "ff:{e:e1}", "brake") }
    #expect(try fanOut("pause", "e1", "--reason", "wrong title").code == 0)
    #expect(try halt() == "paused")
    #expect(try redis.cli("HGET", "ff:{e:e1}", "brake_why") == "wrong title")
    // It says who and why, and a reason is bounded as the API's.
    let paused = try fanOut("status", "e1").text
    #expect(paused.contains("ago: wrong title"), "\(paused)")
    let endless = String(repeating: "r", count: 513)
    #expect(try fanOut("pause", "e1", "--reason", endless).code == 64)
    #expect(try fanOut("pause", "e1", "--reason", String(repeating: "ü", count: 512)).code == 0)
    let again = try fanOut("pause", "e1")
    #expect(again.code == 0 && again.text.contains("was paused before"))
    #expect(try fanOut("resume", "e1").code == 0)
    #expect(try halt() == "")
    // Only told.
    let told = try fanOut("cancel", "e1")
    #expect(told.code == 0 && told.text.contains("--apply"))
    #expect(try halt() == "")
    #expect(try fanOut("cancel", "e1", "--apply").code == 0)
    #expect(try halt() == "cancelled")
    #expect(try !fanOut("cancel", "e1").text.contains("--apply"))
    #expect(try fanOut("resume", "e1").code == 1)
    #expect(try halt() == "cancelled")
    try begin("e2", state: "done")
    #expect(try fanOut("pause", "e2").code == 1)
    let late = try fanOut("cancel", "e2")
    #expect(late.text.contains("nothing left to cancel") && !late.text.contains("--apply"))
    #expect(try fanOut("pause", "e3").code == 5)
  }
}
