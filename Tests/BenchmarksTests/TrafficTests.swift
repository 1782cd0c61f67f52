import Deliver
import Model
import Testing

@testable import Benchmarks
@testable import FCM

/// The sender and h2load are compared on the same work, so both must send the same.
@Suite struct TrafficTests {
  private static let now: Int64 = 1_700_000_000_000

  private static func batches(_ traffic: SenderTraffic, total: Int) -> [PushBatch] {
    var batches = SenderBatches(
      traffic, total: total, expiresAt: now + BenchTraffic.expirySeconds * 1_000)
    var all: [PushBatch] = []
    while let batch = batches.nextBatch() {
      batch.seal()
      all.append(batch)
    }
    #expect(batches.tally.pushes == total)
    return all
  }

  private static func texts(
    _ batches: [PushBatch], _ slice: (PushBatch.Entry) -> ByteSlice
  ) -> [String] {
    batches.flatMap { batch in batch.entries.map { batch.bytes.string(slice($0)) } }
  }

  @Test func applesPushesGoToTheTokensInThePathsOfH2load() throws {
    let batches = Self.batches(try BenchTraffic.traffic(), total: 1_030)
    #expect(batches.map(\.entries.count) == [512, 512, 6])
    #expect(Self.texts(batches, \.token) == (0..<1_030).map { BenchTraffic.token($0) })
    #expect(Set(Self.texts(batches, \.token)).count == 1_030)
  }

  @Test func noTwoPayloadsAreAlikeAndAllAreAsLong() throws {
    let payloads = Self.texts(Self.batches(try BenchTraffic.traffic(), total: 600), \.payload)
    #expect(Set(payloads).count == 600)
    #expect(payloads.allSatisfy { $0.utf8.count == BenchTraffic.payload.bytes.count })
    #expect(payloads[599].contains(#""body":"Hi 00000599, tune in now"#))
  }

  @Test func aBodyForFCMIsTheOneThatH2loadSends() throws {
    let batch = try #require(Self.batches(try FCMTraffic.traffic(), total: 2).first)
    let writer = try FCMRequestWriter(
      authority: "127.0.0.1:1", project: FCMProject("p-1"), slots: 2, wallClock: { Self.now })
    let token = AccessToken("ya29")
    let fields = try #require(
      writer.fields(sharing: SharedHeaders(batch.headers, token, fields: token)))
    let bodies = try (0..<2).map { index in
      Array(
        try #require(writer.fill(fields, for: batch[index], in: batch.bytes, slot: index)))
    }
    #expect(bodies[0] == FCMTraffic.body)
    #expect(bodies[1] != bodies[0] && bodies[1].count == bodies[0].count)
    #expect(FCMTraffic.token(0).utf8.count == 163)
  }

  @Test func browsersGetTheirTurnOneAfterTheOther() throws {
    let traffic = try WebPushTraffic.traffic()
    #expect(Set(traffic.bindings.map(\.keys)).count == WebPushTraffic.subscriptions)
    let batches = Self.batches(traffic, total: WebPushTraffic.subscriptions + 3)
    let tokens = Self.texts(batches, \.token)
    #expect(Set(tokens).count == WebPushTraffic.subscriptions)
    #expect(tokens.suffix(3) == tokens.prefix(3))
    #expect(Self.texts(batches, \.keys).prefix(9) == traffic.bindings.prefix(9).map(\.keys)[...])
  }

  @Test("Of a series, what an idle run sends costs nothing")
  func idleRequests() {
    func process(_ requests: Int, microseconds: Double) -> LoadGenerator.Process {
      LoadGenerator.Process(
        requests: requests, cpuMicroseconds: microseconds, requestsPerSecond: 1,
        succeeded: requests)
    }
    var series = LoadGenerator.Series(requests: 110, idle: 10)
    series.add(
      busy: process(110, microseconds: 350), idle: process(10, microseconds: 50))
    #expect(series.costs == [3])
  }
}
