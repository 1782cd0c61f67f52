import Devices
import EventLoop
import Keyspace
import Model
import Record
import Redis

/// What a backend does with Redis, on its loop.
typealias BackendWork = (isolated LoopActor, RedisClient, World) async throws -> Void

/// What the backends of a life do.
extension LifeRun {
  private static let retryAfter: Duration = .milliseconds(300)
  /// Over a minute, whatever goes wrong.
  private static let maximumTries = 400

  func performForBackend(_ deed: Deed) {
    switch deed {
    case .emit(let event): emit(event)
    case .emitAgain(let event): if oracle.events[event].isWritten { emit(event) }
    case .emitNonsense: write("no event", key: "s0") {}
    case .bind(let user): bind(user)
    case .unbind(let user): unbind(user)
    case .move(let from, let to): move(from, to)
    case .follow(let user, let streamer): follow(user, streamer)
    case .unfollow(let user, let streamer): unfollow(user, streamer)
    case .forget(let user): forget(user)
    case .divide(let streamer): divide(streamer)
    case .pause(let event, let duration): pause(event, duration)
    case .cancel(let event): cancel(event)
    case .endStream(let event): endStream(event)
    default: break
    }
  }

  /// Asks again until it is done.
  func persist(
    _ body: @escaping BackendWork, whenDone: @escaping () -> Void
  ) {
    nonisolated(unsafe) let (body, whenDone, oracle) = (body, whenDone, oracle)
    world.begin { actor, world in
      for _ in 0..<Self.maximumTries {
        do {
          try await world.withRedis { try await body(actor, $0, world) }
          return whenDone()
        } catch {
          await actor.wait(Self.retryAfter)
        }
      }
      oracle.fail("a backend cannot do what it is to do")
    }
  }

  private func write(_ text: String, key: String, whenDone: @escaping () -> Void) {
    nonisolated(unsafe) let whenDone = whenDone
    world.begin { actor, world in
      for _ in 0..<Self.maximumTries {
        do {
          try await world.write(Array(text.utf8), key: Array(key.utf8))
          return whenDone()
        } catch {
          await actor.wait(Self.retryAfter)
        }
      }
    }
  }

  // MARK: events

  private func emit(_ number: Int) {
    let event = plan.events[number]
    if !oracle.events[number].isWritten {
      oracle.events[number].begins = oracle.now
      oracle.events[number].expiresAt = world.wallClock() + Int64(event.expiresIn) * 1_000
      oracle.events[number].document = world.document(
        "e\(number)", streamer: "s\(event.streamer)", stream: "b\(number)", template: "world",
        expiresIn: event.expiresIn)
    }
    write(oracle.events[number].document, key: "s\(event.streamer)") { [oracle] in
      oracle.events[number].begun = min(oracle.events[number].begun, oracle.now)
    }
  }

  private func cancel(_ number: Int) {
    setHalt(.cancelled, of: number) { [oracle] result in
      guard result == .done || result == .already else { return }
      oracle.events[number].cancelled = min(oracle.events[number].cancelled, oracle.now)
    }
    oracle.events[number].cancelBegins = min(oracle.events[number].cancelBegins, oracle.now)
  }

  private func pause(_ number: Int, _ duration: Duration) {
    setHalt(.paused, of: number) { [self] result in
      guard result == .done || result == .already else { return }
      oracle.events[number].pauses.append((oracle.now, .max))
      later(duration) { [self] in
        for index in oracle.events[number].pauses.indices {
          oracle.events[number].pauses[index].to = min(
            oracle.events[number].pauses[index].to, oracle.now)
        }
        setHalt(nil, of: number) { _ in }
      }
    }
  }

  private func setHalt(
    _ halt: Halt?, of number: Int, whenDone: @escaping (HaltResult) -> Void
  ) {
    nonisolated(unsafe) var result = HaltResult.unknown
    persist({ _, client, world in
      result = try await RecordStage(redis: client, keyspace: world.keyspace).setHalt(
        halt, of: "e\(number)", reason: "a deed", now: world.wallClock())
    }) { whenDone(result) }
  }

  private func endStream(_ number: Int) {
    guard oracle.events[number].isWritten else { return }
    oracle.events[number].cancelBegins = min(oracle.events[number].cancelBegins, oracle.now)
    let streamer = "s\(plan.events[number].streamer)"
    write(
      """
      {"type":"stream.ended","streamer":{"id":"\(streamer)"},\
      "stream":{"id":"b\(number)"},"occurred_at":"\(world.rfc3339)"}
      """, key: streamer
    ) {}
  }

  // MARK: users

  private func bind(_ user: Int) {
    guard !isBusy([user]) else { return }
    let device = newDevice(truth.newDevice())
    oracle.devices[device.number] = device
    give(device, to: user, alsoBusy: [])
  }

  private func move(_ from: Int, _ to: Int) {
    guard from != to, !isBusy([from, to]), let number = truth.devices(of: from).first,
      let device = oracle.devices[number]
    else { return }
    give(device, to: to, alsoBusy: [from])
  }

  private func give(_ device: WorldDevice, to user: Int, alsoBusy: [Int]) {
    let at = world.wallClock()
    truth.beginBind(device.number, to: user, at: at)
    change([user] + alsoBusy) { _, registry in
      try await registry.bind(user: "u\(user)", device.binding, at: at)
    } whenDone: { [truth] in
      truth.endBind(device.number)
    }
  }

  private func unbind(_ user: Int) {
    guard !isBusy([user]), let number = truth.devices(of: user).first,
      let device = oracle.devices[number]
    else { return }
    truth.beginUnbind(number)
    change([user]) {
      try await $1.unbind(user: "u\(user)", device.binding)
    } whenDone: { [truth] in
      truth.endUnbind(number)
    }
  }

  private func follow(_ user: Int, _ streamer: Int) {
    guard !isBusy([user]) else { return }
    truth.beginFollow(user, of: streamer)
    change([user]) {
      try await $1.follow(streamer: "s\(streamer)", user: "u\(user)")
    } whenDone: { [truth] in
      truth.endFollow(user, of: streamer)
    }
  }

  private func unfollow(_ user: Int, _ streamer: Int) {
    guard !isBusy([user]) else { return }
    truth.beginUnfollow(user, of: streamer)
    change([user]) {
      try await $1.unfollow(streamer: "s\(streamer)", user: "u\(user)")
    } whenDone: { [truth] in
      truth.endUnfollow(user, of: streamer)
    }
  }

  private func forget(_ user: Int) {
    guard !isBusy([user]) else { return }
    let devices = truth.devices(of: user)
    let streamers = plan.streamers.indices
    truth.beginForget(user)
    for device in devices { truth.beginUnbind(device) }
    for streamer in streamers { truth.beginUnfollow(user, of: streamer) }
    begin(forgetting: user) { [truth] in
      for device in devices { truth.endUnbind(device) }
      for streamer in streamers { truth.endUnfollow(user, of: streamer) }
    }
  }

  private func begin(forgetting user: Int, whenDone: @escaping () -> Void) {
    var scope = UserErasure.Scope()
    scope.streamers = plan.streamers.indices.map { "s\($0)" }
    work(for: [user]) { [scope] _, client, world in
      _ = try await UserErasure(redis: client, keyspace: world.keyspace)
        .run("u\(user)", scope, writes: true)
    } whenDone: {
      whenDone()
    }
  }

  private func divide(_ streamer: Int) {
    world.begin { _, world in
      // A rewrite that another one overtakes, or that Redis breaks off, changes nothing.
      try? await world.withRedis { client in
        _ = try await AudienceSharding(redis: client, keyspace: world.keyspace)
          .run(streamer: "s\(streamer)", from: .current)
      }
    }
  }
}
