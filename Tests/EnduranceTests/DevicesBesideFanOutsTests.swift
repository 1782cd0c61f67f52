import APNsSimulator
import Devices
import Keyspace
import Redis
import TestBed
import Testing
import Threads

/// People log in and out, get new tokens, follow and unfollow while events go out.
@Suite(.serialized) struct DevicesBesideFanOutsTests {
  private static let clients = 8
  /// Of each client: 100,000 in all.
  private static let steps = 12_500
  private static let streamers = (0..<4).map { "s\($0)" }

  /// What came of an event, with the time in which that may have been decided.
  private struct Round: Sendable {
    let streamer: String
    let time: ClosedRange<ContinuousClock.Instant>
    let pushes: [String: Int]
  }

  @Test func noPushGoesToADeviceThatWasUnbound() async throws {
    let bed = try await WorkerBed()
    let workers = [
      try await bed.startWorker(), try await bed.startWorker { $0.workerID = "worker-2" },
    ]
    let left = ThreadLock(Self.clients)
    async let rounds = Self.emit(in: bed) { left.withLock { $0 > 0 } }
    let histories = try await withThrowingTaskGroup(of: DeviceHistory.self) { group in
      for client in 0..<Self.clients {
        group.addTask {
          defer { left.withLock { $0 -= 1 } }
          return try await bed.withRedis { redis in
            var history = DeviceHistory(client: client)
            for _ in 0..<Self.steps { try await history.step(redis, streamers: Self.streamers) }
            return history
          }
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    let all = try await rounds
    let (sent, due) = Self.judge(all, histories)
    let summary = await bed.simulator.summary()
    #expect(summary.accepted == sent)
    try await Self.expectAgreement(bed, histories)
    for worker in workers { #expect(await worker.stop()) }
    EnduranceBed.report(
      "\(Self.clients * Self.steps) binds, unbinds, replaces, follows and unfollows beside "
        + "\(all.count) events: \(sent) pushes, \(due) of them certain to be due")
    #expect(all.count > 10 && sent > 1_000 && due > 100)
  }

  /// One event after the other, as long as clients are at work.
  private static func emit(
    in bed: WorkerBed, while isGoingOn: @Sendable () -> Bool
  ) async throws -> [Round] {
    let tokens = (0..<clients).flatMap { DeviceHistory(client: $0).tokens }
    var rounds: [Round] = []
    var before = await bed.simulator.counts(of: tokens).map(\.accepted)
    while isGoingOn() {
      let streamer = streamers[rounds.count % streamers.count]
      let began = ContinuousClock.now
      try await bed.emit("e\(rounds.count)", streamer: streamer)
      let status = try await bed.finished("e\(rounds.count)")
      #expect(status.isBalanced)
      let time = began...ContinuousClock.now
      let after = await bed.simulator.counts(of: tokens).map(\.accepted)
      var pushes: [String: Int] = [:]
      for index in tokens.indices where after[index] > before[index] {
        pushes[tokens[index]] = after[index] - before[index]
      }
      #expect(status.accepted == pushes.values.reduce(0, +))
      before = after
      rounds.append(Round(streamer: streamer, time: time, pushes: pushes))
    }
    return rounds
  }

  private static func judge(
    _ rounds: [Round], _ histories: [DeviceHistory]
  ) -> (sent: Int, due: Int) {
    var (sent, due) = (0, 0)
    for (number, round) in rounds.enumerated() {
      for history in histories {
        for token in history.tokens {
          let pushes = round.pushes[token] ?? 0
          sent += pushes
          if pushes > 0 {
            #expect(
              history.mayReach(token, round.streamer, round.time),
              "event \(number) reached a device that nobody who follows had")
          }
          if history.mustReach(token, round.streamer, round.time) {
            due += 1
            #expect(pushes == 1, "event \(number) reached a device \(pushes) times")
          }
        }
      }
    }
    return (sent, due)
  }

  /// A token has one user, the one whom its client remembers; counts are of those who are there.
  private static func expectAgreement(
    _ bed: WorkerBed, _ histories: [DeviceHistory]
  ) async throws {
    let keyspace = bed.keyspace
    try await bed.withRedis { redis in
      let registry = DeviceRegistry(redis: redis, keyspace: keyspace)
      for history in histories {
        var holders: [String: [String]] = [:]
        for user in history.users {
          for device in try await registry.devices(of: user).bound {
            holders[device.binding.token, default: []].append(user)
          }
        }
        for token in history.tokens {
          #expect(holders[token] ?? [] == (history.owner(of: token).map { [$0] } ?? []))
        }
      }
      let audiences = AudienceReader(redis: redis, keyspace: keyspace)
      for streamer in streamers {
        let report = try await audiences.report(on: streamer)
        let following = histories.reduce(0) { count, history in
          count + (history.follows[streamer] ?? [:]).values.count { $0.last?.to == nil }
        }
        #expect(report.followers == following && report.noted == following)
      }
    }
  }
}
