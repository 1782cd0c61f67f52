import EventLoop
import Model
import Synchronization
import Testing

@testable import APNs
@testable import Deliver

/// Other credentials come while a server lets nobody in, and each place waits a long time before it
/// connects again.
@Suite struct ChangedProofTests {
  private func bed(_ loop: EventLoop, _ credentials: AppCredentials) async throws -> DeliverBed {
    let bed = try DeliverBed(
      loop, credentials: credentials, prepare: { $0.maximumConnections = 0 }
    ) {
      $0.connectionsPerRoute = 2
      $0.retry = RetryPolicy(initial: .seconds(1_000), maximum: .seconds(1_000))
    }
    await bed.until("both places wait") { bed.notices.disconnects == 2 }
    return bed
  }

  /// - Parameter isWaiting: a push has come before.
  @Test(arguments: [true, false])
  func anotherCertificateIsShownAtOnce(isWaiting: Bool) async throws {
    try await onLoop { _, loop in
      let certificates = try DeliverBed.certificates.get()
      let identity = ClientIdentity(certificates.identity())
      let bed = try await bed(loop, AppCredentials(APNsCredentials.certificate(identity)))
      defer { bed.stop() }
      if isWaiting { await bed.stage.admit(bed.batch(["00aa"])) }
      bed.server.maximumConnections = .max
      identity.use(certificates.identity())
      if !isWaiting { await bed.stage.admit(bed.batch(["00aa"])) }
      await bed.until("it is taken") { bed.tally.accepted == 1 }
    }
  }

  @Test func anotherKeyIsShownAtOnce() async throws {
    try await onLoop { _, loop in
      let wasSigned = Flag(false)
      let tokens = ProviderTokenSource(
        key: ProviderKey(keyID: "KEYKEYKEY1", teamID: "TEAMTEAM01") { _ in
          wasSigned.value.store(true, ordering: .relaxed)
          return [7]
        }, lifetime: .seconds(50 * 60), monotonic: { EventLoop.monotonicNanoseconds() })
      let bed = try await bed(loop, AppCredentials(APNsCredentials.key(tokens)))
      defer { bed.stop() }
      await bed.stage.admit(bed.batch(["00aa"]))
      await bed.until("there is a token") { wasSigned.value.load(ordering: .relaxed) }
      bed.server.maximumConnections = .max
      tokens.use(ProviderKey(keyID: "KEYKEYKEY2", teamID: "TEAMTEAM01") { _ in [8] })
      await bed.until("it is taken") { bed.tally.accepted == 1 }
    }
  }
}
