import APNs
import APNsSimulator
import Assembly
import Deliver
import Glibc
import Pipeline
import Settings
import TestBed
import Testing

/// How workers prove to Apple who they are.
@Suite(.serialized) struct CredentialTests {
  /// They never speak of it, and Apple sees the same tokens from all of them: one, or two while an
  /// interval ends.
  @Test func workersWithOneKeyShowTheSameProviderTokens() async throws {
    let bed = try await WorkerBed()
    var workers = [try await bed.startWorker()]
    for index in 2...4 {
      workers.append(try await bed.startWorker { $0.workerID = "worker-\(index)" })
    }
    try await bed.ready(workers: 4)
    // Streamers are spread over the partitions, and so over the workers.
    for number in 0..<16 {
      let streamer = "s\(number)"
      try await bed.follow(streamer, tokens: (0..<5).map { paddedHex(number * 100 + $0) })
      try await bed.emit("e\(number)", streamer: streamer)
      #expect(try await bed.finished("e\(number)").accepted == 5)
    }
    let summary = await bed.simulator.summary()
    #expect((1...2).contains(summary.providerTokens) && summary.byReason.isEmpty)
    for worker in workers { #expect(await worker.stop()) }
  }

  /// By a link, as Kubernetes does, in the middle of a fan-out; what comes then is broken.
  @Test func aKeyIsChangedInTheMiddleOfAFanOut() async throws {
    let keys = try ["FIRSTKEY01", "SECONDKEY2"].map { try BedKey(id: $0) }
    var script = SimulatorScript()
    script.latency = .milliseconds(20)
    script.streams = 10
    let bed = try await WorkerBed(script: script, keys: keys)
    for key in keys {
      _ = try bed.directory.makeDirectory(key.id)
      try bed.directory.write(key.pem, to: "\(key.id)/\(key.fileName)")
    }
    _ = try bed.directory.makeDirectory("broken")
    try bed.directory.write(String(keys[0].pem.prefix(100)), to: "broken/AuthKey_BROKENKEY3.p8")
    link(to: keys[0].id, bed)
    var settings = Settings.defaults
    settings.apns.keyFile = bed.directory.file("current")
    settings.apns.teamID = keys[0].teamID
    let credentials = try ProviderCredentials(settings)
    let worker = try await bed.startWorker {
      $0.credentials = AppCredentials(APNsCredentials.key(credentials.tokens))
      $0.lookAtCredentials = {
        credentials.look().map { [PlatformCredentialChange(.apns, $0)] } ?? []
      }
    }
    let tokens = (0..<4000).map { paddedHex($0) }
    try await bed.follow("s1", tokens: tokens)
    try await bed.ready()
    try await bed.emit("e1")
    let before = try await bed.until("the fan-out is under way") {
      let accepted = await bed.simulator.summary().accepted
      return accepted > 200 ? accepted : nil
    }
    #expect(before < tokens.count)
    link(to: keys[1].id, bed)
    _ = credentials.look()
    let status = try await bed.finished("e1")
    #expect(status.accepted == tokens.count && status.isBalanced)
    var summary = await bed.simulator.summary()
    #expect(summary.providerTokens == 2 && summary.duplicates == 0 && summary.byReason.isEmpty)
    // The worker looks by itself too.
    link(to: "broken", bed)
    _ = try await bed.until("the broken key is refused") {
      bed.sink.lines.contains { $0.contains("have changed and cannot be used") } ? true : nil
    }
    try await bed.follow("s2", tokens: (5000..<5100).map { paddedHex($0) })
    try await bed.emit("e2", streamer: "s2")
    #expect(try await bed.finished("e2").accepted == 100)
    link(to: keys[0].id, bed)
    _ = try await bed.until("the first key is used again") {
      bed.sink.lines.contains { $0.contains("key FIRSTKEY01 of team TEAMTEAM01") } ? true : nil
    }
    try await bed.emit("e3", streamer: "s2")
    #expect(try await bed.finished("e3").accepted == 100)
    summary = await bed.simulator.summary()
    #expect(summary.byReason.isEmpty)
    #expect(await worker.stop())
  }

  private func link(to target: String, _ bed: WorkerBed) {
    symlink(target, bed.directory.file("next"))
    rename(bed.directory.file("next"), bed.directory.file("current"))
  }

  /// Each request goes with the token of its app's team, on a connection of that team.
  @Test func appsOfTwoTeamsGoInOneStreamOfEvents() async throws {
    let other = "com.example.other"
    let keys = [
      try BedKey(id: "FIRSTKEY01", teamID: "TEAMTEAM01", topics: [WorkerBed.app]),
      try BedKey(id: "SECONDKEY2", teamID: "TEAMTEAM02", topics: [other]),
    ]
    let bed = try await WorkerBed(topics: [WorkerBed.app, other], keys: keys)
    for key in keys { try bed.directory.write(key.pem, to: key.fileName) }
    var settings = Settings.defaults
    settings.apns.keyFile = bed.directory.file(keys[0].fileName)
    settings.apns.teamID = keys[0].teamID
    settings.apns.apps[other] = .init(
      keyFile: bed.directory.file(keys[1].fileName), teamID: keys[1].teamID)
    let files = try AppCredentialFiles(settings)
    let worker = try await bed.startWorker {
      $0.credentials = files.credentials
      $0.lookAtCredentials = { files.look() }
    }
    let apps = [("s1", WorkerBed.app), ("s2", other)]
    for (place, (streamer, app)) in apps.enumerated() {
      try await bed.follow(
        streamer, tokens: (0..<200).map { paddedHex(place * 10_000 + $0) }, app: app)
    }
    try await bed.ready()
    for round in 1...3 {
      for (streamer, app) in apps {
        try await bed.emit("\(streamer)-\(round)", streamer: streamer, app: app)
      }
    }
    for round in 1...3 {
      for (streamer, _) in apps {
        let status = try await bed.finished("\(streamer)-\(round)")
        #expect(status.accepted == 200 && status.isBalanced)
      }
    }
    // A token of one team for a topic of the other's, or on its connection, had been refused.
    let summary = await bed.simulator.summary()
    #expect(summary.requests == 1200 && summary.accepted == 1200 && summary.byReason.isEmpty)
    #expect(summary.providerTokens == 2)
    #expect(await worker.stop())
  }
}
