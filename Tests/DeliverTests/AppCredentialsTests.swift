import EventLoop
import Model
import Testing

@testable import APNs
@testable import Deliver

/// Apps of several teams in one lane.
@Suite struct AppCredentialsTests {
  private func source(_ team: String) -> ProviderTokenSource {
    ProviderTokenSource(
      key: ProviderKey(keyID: "KEYKEYKEY1", teamID: team) { _ in Array(team.utf8) },
      lifetime: .seconds(3000), monotonic: { 0 })
  }

  private func credentials(others: Int? = 0) -> AppCredentials {
    AppCredentials(
      [
        .init(name: "other apps", APNsCredentials.key(source("TEAMTEAM01"))),
        .init(name: "c.d", APNsCredentials.key(source("TEAMTEAM02"))),
      ], apps: ["c.d": 1, "c.voip": 1], others: others)
  }

  @Test(arguments: [
    ("a.b", 0), ("c.d", 1), ("c.d.voip", 1), ("c.d.push-type.liveactivity", 1), ("c.d.e", 0),
    ("c", 0), ("c.voip", 1), ("c.dd", 0),
  ])
  func findsThoseOfATopic(topic: String, place: Int) {
    #expect(credentials().index(of: topic, on: "apns") == place)
    #expect(credentials(others: nil).index(of: topic, on: "apns") == (place == 0 ? nil : 1))
    #expect(AppCredentials(APNsCredentials.key(source("T"))).index(of: topic, on: "apns") == 0)
  }

  private func headers(_ request: FakeServer.Request) -> String { request["authorization"] ?? "" }

  /// A connection is bound to a team.
  @Test func eachTeamHasConnectionsOfItsOwn() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop, credentials: credentials())
      defer { bed.stop() }
      // Only those that are used connect.
      #expect(bed.stage.openConnections == 0)
      let tallies = [SegmentTally(), SegmentTally()]
      let devices = hexadecimal(200).map { (Destination.production, $0) }
      for (tally, topic) in zip(tallies, ["a.b", "c.d"]) {
        await bed.stage.admit(bed.batch(devices, tally, topic: topic))
      }
      await bed.until("accepted") { tallies.allSatisfy { $0.accepted == 200 } }
      let byTopic = Dictionary(grouping: bed.server.requests) { $0["apns-topic"] ?? "" }
      let first = byTopic["a.b", default: []]
      let second = byTopic["c.d", default: []]
      #expect(first.count == 200 && second.count == 200)
      #expect(Set(first.map(headers)).count == 1 && Set(second.map(headers)).count == 1)
      #expect(first.first.map(headers) != second.first.map(headers))
      let connections = [first, second].map { Set($0.map(\.connection)) }
      #expect(connections[0].isDisjoint(with: connections[1]))
    }
  }

  @Test func appsWithoutCredentialsAreRejectedAtOnce() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop, credentials: credentials(others: nil))
      defer { bed.stop() }
      let devices = hexadecimal(5).map { (Destination.production, $0) }
      let tally = SegmentTally()
      await bed.stage.admit(bed.batch(devices, tally, topic: "a.b"))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(tally.rejections.map(\.reason) == [.noRoute] && tally.settled == 5)
      #expect(!bed.stage.isClosed(PushRoute(destination: .production, topic: "a.b")))
    }
  }

  /// What is refused of one team's holds up nobody else, and is named.
  @Test func anExpiredCertificateHoldsItsOwnAppsOnly() async throws {
    try await onLoop { _, loop in
      let expired = try DeliverBed.certificates.get().identity(expiresAt: 1)
      let all = AppCredentials(
        [
          .init(name: "other apps", APNsCredentials.key(source("TEAMTEAM01"))),
          .init(name: "c.d", APNsCredentials.certificate(ClientIdentity(expired))),
        ], apps: ["c.d": 1], others: 0)
      let bed = try DeliverBed(loop, credentials: all)
      defer { bed.stop() }
      let devices = hexadecimal(20).map { (Destination.production, $0) }
      let (held, tally) = (SegmentTally(), SegmentTally())
      await bed.stage.admit(bed.batch(devices, held, topic: "c.d"))
      await bed.stage.admit(bed.batch(devices, tally, topic: "a.b"))
      await bed.until("accepted") { tally.accepted == 20 }
      await bed.until("known") { !bed.stage.obstacles.isEmpty }
      #expect(
        bed.stage.obstacles.map(\.description)
          == ["production (c.d): the certificate has expired (a certificate for a.b)"])
      #expect(held.settled == 0)
      #expect(bed.stage.isClosed(PushRoute(destination: .production, topic: "c.d.voip")))
      #expect(!bed.stage.isClosed(PushRoute(destination: .production, topic: "a.b")))
    }
  }
}
