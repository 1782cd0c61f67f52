import Devices
import EventLoop
import Keyspace
import Model
import Redis

/// What the documents say of single calls of a backend, each made as it may come.
final class StormRegistry {
  private let storm: Storm
  private var space: Keyspace { storm.world.keyspace }
  private let token = WorldDevice.token(0xB00_0000, head: "ab")
  private static let user = "registry-u"

  init(_ storm: Storm) { self.storm = storm }

  func run() {
    checkAges()
    checkMutes()
    storm.begin("an erasure") { _, client, world in
      _ = try await UserErasure(redis: client, keyspace: world.keyspace)
        .run(Self.user, UserErasure.Scope(), writes: true)
    }
    storm.settle()
  }

  private func call(
    _ what: String, mayFail: Bool = false,
    _ body: @escaping (isolated LoopActor, DeviceRegistry) async throws -> Void
  ) {
    nonisolated(unsafe) let body = body
    storm.begin(what, mayFail: mayFail) { actor, client, world in
      try await body(actor, DeviceRegistry(redis: client, keyspace: world.keyspace))
    }
    storm.settle()
  }

  private func binding(_ app: String) -> Binding {
    guard let binding = Binding(destination: .production, topic: app, token: token) else {
      preconditionFailure("\(token) is no token")
    }
    return binding
  }

  /// A registration that arrives late makes no binding older, and a logout from one app leaves the
  /// other.
  private func checkAges() {
    let (own, other) = (binding(World.app), binding(World.otherApp))
    let (user, at) = (Self.user, storm.world.wallClock())
    call("a bind") { try await $1.bind(user: user, own, at: at) }
    call("a late bind") { try await $1.bind(user: user, own, at: at - 5_000) }
    call("a bind in another app") { try await $1.bind(user: user, other, at: at) }
    let bound = storm.world.hash(space.bound(user: user))
    if bound[own.member] != "\(at)" {
      storm.fail("bound at \(at), it looks bound at \(bound[own.member] ?? "no time")")
    }
    call("a logout") { _ = try await $1.unbind(user: user, own) }
    let left = storm.world.members(space.bindings(user: user))
    if left != [other.member] { storm.fail("who logs out of one app has \(left.sorted())") }
  }

  /// More mutes than rules look at are not told as done.
  private func checkMutes() {
    let user = Self.user
    nonisolated(unsafe) var muted = 0
    for part in 0..<8 {
      let streamers = (0..<50).map { "registry-\(part)-\($0)-" + String(repeating: "x", count: 50) }
      call("mutes", mayFail: true) {
        _ = try await $1.mute(user: user, streamers: streamers)
        muted += streamers.count
      }
    }
    let text = storm.world.hash(space.profile(user: user)).values.joined(separator: "\n")
    let kept = text.split(separator: "\n").count { $0.hasPrefix("registry-") }
    if kept != muted || muted == 8 * 50 {
      storm.fail("\(muted) mutes are told as done, and \(kept) are there")
    }
  }
}
