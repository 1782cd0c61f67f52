import Devices
import LocalStack
import Model
import Processes
import Terminal

/// Followers who have one device each, so that recipients and pushes are the same number.
struct BenchAudience {
  let streamer: String
  let options: BenchOptions

  func seed(_ stack: LocalStack) async throws(LocalRunError) {
    let people = SyntheticAudience(
      followers: options.pushes, seed: 1, topic: LocalStack.app, mutedShare: 0)
    try await options.seeding("\(Figures.grouped(options.pushes)) followers", options.pushes) {
      (progress) async throws(LocalRunError) in
      try await stack.seed(
        streamer: streamer, followers: options.pushes, progress: progress
      ) {
        people.row($0).withDevice(people.token($0, device: 0))
      }
    }
  }

  /// An event that is not measured: the first opens the connections.
  func warm(_ stack: LocalStack) async throws(LocalRunError) {
    _ = try await fanOut("warm", on: stack)
  }

  func fanOut(_ run: Int, on stack: LocalStack) async throws(LocalRunError) -> MeasuredFanOut {
    try await fanOut("\(run)", on: stack)
  }

  /// One event to all of them; fails unless every push is accepted.
  func fanOut(_ name: String, on stack: LocalStack) async throws(LocalRunError) -> MeasuredFanOut {
    let fanOut = try await MeasuredFanOut.run(
      GoLiveEvent(id: "\(streamer)-\(name)", streamer: streamer), on: stack)
    guard fanOut.status.accepted == options.pushes else {
      throw LocalRunError(
        .failed,
        "of \(Figures.grouped(options.pushes)) pushes "
          + "\(Figures.grouped(fanOut.status.accepted)) were accepted")
    }
    return fanOut
  }
}

extension AudienceRow {
  /// A follower with one device.
  init(user: String, token: String, at destination: Destination = .production) {
    let plain = AudienceRow(user: user, profile: [("name", "Kim")], bindings: [], boundAt: 0)
    self = plain.withDevice(token, at: destination)
  }

  /// The same follower with this device alone.
  func withDevice(_ token: String, at destination: Destination = .production) -> AudienceRow {
    let binding = Binding(destination: destination, topic: LocalStack.app, token: token)
    return AudienceRow(
      user: user, profile: profile, bindings: binding.map { [$0] } ?? [], boundAt: boundAt)
  }
}
