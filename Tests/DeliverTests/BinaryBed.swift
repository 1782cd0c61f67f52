import EventLoop
import Legacy
import Testing

@testable import Deliver

/// A bed whose pushes go over the legacy binary interface.
extension DeliverBed {
  /// Long enough for an error response that is on its way, on a busy machine too.
  static let acceptedAfter: Duration = .milliseconds(400)

  static func binary(
    _ loop: EventLoop, acceptedAfter: Duration = DeliverBed.acceptedAfter,
    firstIdentifier: UInt32 = 1,
    decide: @escaping (FakeGateway.Heard) -> FakeGateway.Reply = { _ in .take }
  ) throws -> (DeliverBed, FakeGateway) {
    let gateway = FakeGateway()
    gateway.decide = decide
    let certificates = try DeliverBed.certificates.get()
    try gateway.start(on: loop, tls: certificates.server)
    let bed = try DeliverBed(loop) {
      $0.connectionsPerRoute = 1
      $0.routes[.production] = RouteTarget(
        endpoint: gateway.endpoint, tls: certificates.client,
        interface: BinaryInterface(acceptedAfter: acceptedAfter, firstIdentifier: firstIdentifier))
    }
    return (bed, gateway)
  }

  func stop(with gateway: FakeGateway) {
    stop()
    gateway.stop()
    #expect(gateway.faults == 0)
  }
}
