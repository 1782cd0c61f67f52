import JSON
import Processes
import ServerProcesses
import Testing

/// `device`, `user`, `follow` and `audience show` as processes, against a real redis-server.
@Suite struct UserVerbTests {
  private let redis: RedisServerProcess

  init() throws { redis = try RedisServerProcess() }

  private func run(_ words: String...) throws -> Command.Outcome {
    let process = try Command.start(words + ["--set", "redis.port=\(redis.port)"])
    let text = process.readToEnd()
    return Command.Outcome(code: process.waitForExit(), text: text)
  }

  /// The last line; what stands above it is of the progress.
  private func json(_ words: String...) throws -> JSONObject {
    let process = try Command.start(words + ["--json", "--set", "redis.port=\(redis.port)"])
    let text = process.readToEnd()
    #expect(process.waitForExit() == 0, "\(text)")
    let line = try #require(text.split(separator: "\n").last { $0.hasPrefix("{") }, "\(text)")
    return try #require(try JSONValue.parse(Array(line.utf8)).object)
  }

  private func member(_ token: String, _ environment: String = "production") -> String {
    "apns:\(environment):com.example.live:\(token)"
  }

  @Test func aDeviceIsBoundReplacedListedAndUnbound() throws {
    let app = ["--app", "com.example.live"]
    let bound = try json(
      "device", "bind", "u1", "--token", "<AABBccdd 00112233>", app[0], app[1])
    #expect(bound["new"]?.bool == true)
    #expect(try redis.cli("SMEMBERS", "ffd:{u:u1}:bindings") == member("aabbccdd00112233"))
    let again = try run("device", "bind", "u1", "--token", "aabbccdd00112233", app[0], app[1])
    #expect(again.code == 0 && again.text.contains("was bound before"), "\(again.text)")
    // Another user's now, and in the sandbox.
    _ = try json(
      "device", "bind", "u2", "--token", "AABBCCDD00112233", app[0], app[1], "--environment",
      "sandbox")
    #expect(try redis.cli("EXISTS", "ffd:{u:u1}:bindings") == "0")
    #expect(try redis.cli("GET", "ffd:{t:aabbccdd00112233}") == "u2")

    let replaced = try json(
      "device", "replace", "u2", "--old", "aabbccdd00112233", "--token", "EE00", app[0], app[1],
      "--environment", "sandbox")
    #expect(replaced["replaced"]?.bool == true)
    #expect(try redis.cli("SMEMBERS", "ffd:{u:u2}:bindings") == member("ee00", "sandbox"))
    try redis.cli("HSET", "ffd:{u:u2}:quarantined", member("ff00"), "BadDeviceToken 1")
    let devices = try #require(try json("device", "list", "u2")["devices"]?.array)
    #expect(devices.map { $0.object?["state"]?.string } == ["bound", "set_aside"])
    #expect(devices[0].object?["environment"]?.string == "sandbox")
    #expect(devices[0].object?["token"] == nil)
    #expect(
      try json("device", "list", "u2", "--tokens")["devices"]?.array?[0].object?["token"]?.string
        == "ee00")
    let table = try run("device", "list", "u2")
    #expect(table.code == 0 && table.text.contains("set aside: BadDeviceToken"), "\(table.text)")
    #expect(!table.text.contains("ee00") && !table.text.contains("ff00"))

    #expect(try json("device", "unbind", "u1", "--token", "ee00")["removed"]?.integer == 0)
    #expect(try json("device", "unbind", "u2", "--token", "ee00")["removed"]?.integer == 1)
    #expect(try run("device", "unbind", "u2", "--token", "ff00").code == 0)
    #expect(try redis.cli("KEYS", "ffd:{u:*}:[bpq]*") == "")
    #expect(try run("device", "list", "u2").text.contains("has no device"))
  }

  @Test func aProfileIsChangedAndShown() throws {
    let unknown = try run("user", "show", "u1")
    #expect(unknown.code == 1 && unknown.text.contains("no profile and no device of u1"))
    let changed = try run(
      "user", "profile", "u1", "--locale", "ja", "--name", "Ken", "--quiet", "22:00-07:00",
      "--muted", "off", "--mute", "s7", "--mute", "s9", "--field", "team=red")
    #expect(changed.code == 0 && changed.text.contains("s7, s9"), "\(changed.text)")
    #expect(changed.text.contains("rules.muted_streamers is on, and here it is off"))
    #expect(changed.text.contains("rules.quiet_hours is on, and here it is off"))
    #expect(try redis.cli("HGET", "ffd:{u:u1}:profile", "muted_streamers") == "s7\ns9")
    #expect(try redis.cli("HGET", "ffd:{u:u1}:profile", "muted") == "0")
    let profile = try json(
      "user", "profile", "u1", "--clear", "quiet", "--clear", "muted", "--unmute", "s7", "--tz",
      "Asia/Tokyo")["profile"]?.object
    let names = ["locale", "muted_streamers", "name", "team", "tz"]
    #expect(profile?.members.map(\.name) == names)
    #expect(profile?["muted_streamers"]?.string == "s9")
    let on = "rules.quiet_hours=true"
    let unheard = try run("user", "profile", "u1", "--tz", "Asia/Tokio", "--set", on)
    #expect(unheard.code == 64, "\(unheard.text)")
    #expect(unheard.text.contains("did you mean Asia/Tokyo?"), "\(unheard.text)")
    let heard = try run("user", "profile", "u1", "--tz", "Asia/Tokyo", "--set", on)
    #expect(heard.code == 0 && !heard.text.contains("note:"), "\(heard.text)")
    _ = try json("device", "bind", "u1", "--token", "aa", "--app", "com.example.live")
    let shown = try json("user", "show", "u1")
    #expect(shown["profile"]?.object == profile && shown["devices"]?.array?.count == 1)
    let text = try run("user", "show", "u1").text
    #expect(text.contains("Asia/Tokyo") && text.contains("com.example.live"))
    try redis.cli("SET", "ffd:{u:u2}:profile", "x")
    #expect(try run("user", "profile", "u2", "--name", "x").code == 1)
  }

  @Test func whoFollowsIsCounted() throws {
    #expect(try json("follow", "u1", "s1")["changed"]?.bool == true)
    let again = try run("follow", "u1", "s1")
    #expect(again.code == 0 && again.text.contains("followed before"))
    #expect(try json("follow", "u2", "s1", "--mute")["changed"]?.bool == true)
    #expect(try redis.cli("HGET", "ffd:{u:u2}:profile", "muted_streamers") == "s1")
    #expect(try json("follow", "u2", "s1", "--unmute")["changed"]?.bool == false)
    #expect(try redis.cli("EXISTS", "ffd:{u:u2}:profile") == "0")
    let report = try json("audience", "show", "s1", "--limit", "5")
    #expect(report["place"]?.string == "shards" && report["followers"]?.integer == 2)
    #expect(Set(report["sample"]?.array?.compactMap(\.string) ?? []) == ["u1", "u2"])
    #expect(try json("unfollow", "u2", "s1")["changed"]?.bool == true)
    #expect(try run("unfollow", "u2", "s1").text.contains("did not follow"))
    #expect(try redis.cli("SMEMBERS", "ffd:{f:s1:0:0}") == "u1")
    // A follow would hide the plain set.
    let set = "audience.plain_set_key=followers:{streamer}"
    try redis.cli(["SADD", "followers:s2"] + (0..<3_000).map { "v\($0)" })
    let hidden = try run("follow", "u1", "s2", "--set", set)
    #expect(hidden.code == 1 && hidden.text.contains("audience shard"), "\(hidden.text)")
    let plain = try run("audience", "show", "s2", "--limit", "3", "--set", set)
    #expect(plain.text.contains("plain set followers:s2"), "\(plain.text)")
    #expect(plain.text.contains("they should have 2 shards"), "\(plain.text)")
    #expect(try json("audience", "show", "nobody")["place"]?.string == "nowhere")
    try redis.cli("SET", "ffd:{f:s3}", "x")
    #expect(try run("audience", "show", "s3").code == 1)
  }

  @Test func forgettingIsToldBeforeItIsDone() throws {
    _ = try json("device", "bind", "u1", "--token", "aa", "--app", "com.example.live")
    _ = try json("user", "profile", "u1", "--name", "Ken")
    for streamer in ["s1", "s2"] { _ = try json("follow", "u1", streamer) }
    _ = try json("follow", "u2", "u1")
    let told = try run("user", "forget", "u1")
    #expect(told.code == 0 && told.text.contains("would be erased"), "\(told.text)")
    #expect(told.text.contains("--everywhere does it"))
    #expect(told.text.contains("the streamer u1 has 1 followers, who stay"))
    #expect(told.text.contains("nothing was written; --apply erases it"))
    #expect(try redis.cli("EXISTS", "ffd:{u:u1}:bindings", "ffd:{u:u1}:profile") == "2")
    let done = try json("user", "forget", "u1", "--everywhere", "--apply")
    #expect(done["applied"]?.bool == true && done["devices"]?.integer == 1)
    #expect(done["tokens"]?.integer == 1 && done["profile_fields"]?.integer == 1)
    #expect(done["follows"]?.integer == 2 && done["streamers"]?.integer == 3)
    #expect(done["audience"]?.integer == 1 && done["audience_erased"]?.bool == false)
    #expect(try redis.cli("KEYS", "*{u:*") == "ffd:{u:u1}:moves")
    #expect(try redis.cli("EXISTS", "ffd:{t:aa}", "ffd:{f:s1:0:0}", "ffd:{f:s2:0:0}") == "0")
    let again = try json("user", "forget", "u1", "--everywhere", "--audience", "--apply")
    #expect(again["devices"]?.integer == 0 && again["audience_erased"]?.bool == true)
    #expect(try redis.cli("EXISTS", "ffd:{f:u1}", "ffd:{f:u1:0:0}") == "0")
  }

  @Test func aRedisThatIsAwayIsSaid() throws {
    let port = try LocalPort.findFree()
    for words in [
      ["device", "list", "u1"], ["user", "forget", "u1"], ["follow", "u1", "s1"],
      ["audience", "show", "s1"],
    ] {
      let process = try Command.start(
        words + ["--set", "redis.port=\(port)", "--set", "redis.command_timeout=1s"])
      let text = process.readToEnd()
      #expect(process.waitForExit() == 69, "\(text)")
    }
  }
}
