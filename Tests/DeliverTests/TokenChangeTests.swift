import EventLoop
import Model
import Testing

@testable import APNs
@testable import Deliver

/// Another provider token comes while a connection lives: the only one, so that no other has its
/// turn by chance.
@Suite struct TokenChangeTests {
  /// By the wall clock; the connections are seconds old.
  @Test func noConnectionShowsTwoTokensWithinTwentyMinutes() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) { $0.connectionsPerRoute = 1 }
      defer { bed.stop() }
      try await send(bed, tokens: 50, from: 0)
      bed.clock.advance(50 * 60_000)
      try await send(bed, tokens: 50, from: 50)
      #expect(provesOne(bed, of: 2))
    }
  }

  @Test func anotherKeyGoesOnConnectionsOfItsOwn() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) { $0.connectionsPerRoute = 1 }
      defer { bed.stop() }
      try await send(bed, tokens: 50, from: 0)
      bed.tokens.use(ProviderKey(keyID: "KEYKEYKEY2", teamID: "TEAMTEAM01") { _ in [8] })
      try await send(bed, tokens: 50, from: 50)
      #expect(provesOne(bed, of: 2))
    }
  }

  @Test func aCertificateSpeaksForEachPush() async throws {
    try await onLoop { _, loop in
      let certificates = try DeliverBed.certificates.get()
      let identity = ClientIdentity(certificates.identity())
      let bed = try DeliverBed(
        loop, credentials: AppCredentials(APNsCredentials.certificate(identity))
      ) {
        $0.connectionsPerRoute = 2
      }
      defer { bed.stop() }
      try await send(bed, tokens: 50, from: 0)
      #expect(bed.server.requests.allSatisfy { $0["authorization"] == nil })
      #expect(bed.server.requests.allSatisfy { $0["apns-topic"] == "a.b" })
      let before = Set(bed.server.requests.map(\.connection))
      identity.use(certificates.identity())
      try await send(bed, tokens: 50, from: 50)
      let after = Set(bed.server.requests.suffix(50).map(\.connection))
      #expect(before.isDisjoint(with: after) && bed.server.requests.count == 100)
    }
  }

  private nonisolated(nonsending) func send(_ bed: DeliverBed, tokens: Int, from first: Int)
    async throws
  {
    let tally = SegmentTally()
    let all = hexadecimal(first + tokens).dropFirst(first).map { (Destination.production, $0) }
    await bed.stage.admit(bed.batch(Array(all), tally))
    await bed.until("accepted") { tally.accepted == tokens }
  }

  /// Whether each connection has shown one token, of so many in all.
  private func provesOne(_ bed: DeliverBed, of count: Int) -> Bool {
    let shown = Dictionary(grouping: bed.server.requests, by: \.connection)
      .mapValues { Set($0.map { $0["authorization"] }) }
    return shown.values.allSatisfy { $0.count == 1 }
      && Set(bed.server.requests.map { $0["authorization"] }).count == count
  }
}
