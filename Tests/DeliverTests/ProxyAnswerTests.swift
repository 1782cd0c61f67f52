import EventLoop
import Model
import Testing

@testable import Deliver

/// Answers of which no byte is Apple's.
@Suite struct ProxyAnswerTests {
  private static let page = "<html><h1>so says a proxy</h1></html>"

  /// Each device is answered so once: the push is sent again, and none is rejected.
  @Test(arguments: [
    204, 301, 302, 307, 400, 401, 404, 405, 407, 408, 413, 414, 421, 425, 426, 431, 451, 500, 501,
    502, 503, 504, 505, 511,
  ])
  func isNoDevicesFault(status: Int) async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      bed.server.decide = { [unowned server = bed.server] request in
        let isFirst = server.count(request.token) == 1 && request.token.hasSuffix("7")
        return isFirst ? .answer(status, Self.page) : .answer(200)
      }
      let devices = hexadecimal(200).map { (Destination.production, $0) }
      await bed.stage.admit(bed.batch(devices, bed.tally))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 200 && bed.tally.rejections.isEmpty)
      #expect(bed.tally.verdicts.isEmpty && bed.tally.retried > 0)
    }
  }

  /// As gateways write it, with the status' own words.
  @Test(arguments: [
    (400, "Bad Request"), (401, "Unauthorized"), (404, "Not Found"), (405, "Method Not Allowed"),
    (407, "Proxy Authentication Required"), (413, "Payload Too Large"), (418, "I'm a teapot"),
  ])
  func itsJSONIsNoDevicesFaultEither(status: Int, reason: String) async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      bed.server.decide = { [unowned server = bed.server] request in
        server.count(request.token) == 1
          ? .answer(status, #"{"status":\#(status),"reason":"\#(reason)"}"#) : .answer(200)
      }
      await bed.stage.admit(bed.batch(["00ab"]))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 1 && bed.tally.rejections.isEmpty)
    }
  }

  /// RFC 9110, section 15.5.20: a client may send it again over another connection.
  @Test func aMisdirectedRequestGoesOnAnotherConnection() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop) { $0.connectionsPerRoute = 1 }
      defer { bed.stop() }
      bed.server.decide = { $0.connection == 0 ? .answer(421, Self.page) : .answer(200) }
      await bed.stage.admit(bed.batch(["00ab"]))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 1)
      #expect(bed.server.requests.map(\.connection) == [0, 1])
    }
  }

  /// Where others are taken, it is this push that the proxy does not let through: it is tried so
  /// often, and its outcome names the proxy.
  @Test(arguments: [302, 404, 413, 504]) func isTriedTenTimesAndNamed(status: Int) async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      bed.server.decide = {
        $0.token == "00bad0" ? .answer(status, Self.page) : .answer(200)
      }
      let others = SegmentTally()
      func admitOthers() async {
        await bed.stage.admit(
          bed.batch(hexadecimal(200).map { (Destination.production, $0) }, others))
      }
      await admitOthers()
      await bed.until("the server is known to be in order") { others.accepted == 200 }
      await bed.stage.admit(bed.batch(["00bad0"]))
      while bed.tally.settled == 0, bed.server.count("00bad0") < 50 {
        let (tries, taken) = (bed.server.count("00bad0"), others.accepted)
        await admitOthers()
        await bed.until("others are taken") { others.accepted == taken + 200 }
        await bed.until("again") { bed.tally.settled > 0 || bed.server.count("00bad0") > tries }
      }
      // A try counts when others were taken since the one before: up to the order of answers.
      #expect((10..<20).contains(bed.server.count("00bad0")))
      #expect(bed.tally.rejections.map(\.reason) == [.proxyAnswered])
      let words = bed.notices.count {
        if case .unknownAnswer(_, let answer) = $0 { answer.status == status } else { false }
      }
      #expect(words == 1)
    }
  }

  /// A proxy that answers everybody is waited for, as Apple's 503 is.
  @Test func aProxyThatAnswersEverybodyRejectsNobody() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      bed.server.decide = { _ in .answer(407, Self.page) }
      await bed.stage.admit(bed.batch(hexadecimal(50)))
      await bed.until("tried often") { bed.server.requests.count > 100 }
      #expect(bed.tally.settled == 0)
      bed.server.decide = { _ in .answer(200) }
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(bed.tally.accepted == 50)
    }
  }

  /// RFC 8259: what is Apple's is JSON with a reason. Its 410 without a timestamp is noted too.
  @Test func a410WithoutATimestampIsNoted() async throws {
    try await onLoop { _, loop in
      let bed = try DeliverBed(loop)
      defer { bed.stop() }
      bed.server.decide = {
        $0.token == "00ab" ? .answer(410, #"{"reason":"Unregistered"}"#) : .answer(410)
      }
      await bed.stage.admit(bed.batch(["00ab", "00cd"]))
      await bed.until("settled") { bed.settledBatches == 1 }
      #expect(
        bed.tally.verdicts.map(\.finding) == [
          .gone(since: 0, reason: .unregistered), .gone(since: 0, reason: .unregistered),
        ])
    }
  }
}
