import HTTP2
import SimulatorSupport

/// A request that is no push: kept as an object of its own while it comes in.
protocol SideRequest: AnyObject {
  func take(
    _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ service: SimulatorService)
  func append(_ bytes: UnsafeRawBufferPointer, _ service: SimulatorService)
  /// The stream is over, or its connection.
  func forget(_ service: SimulatorService)
  /// It is complete.
  /// - Parameter proof: of the client's certificate, if it has shown one.
  func answer(
    _ service: SimulatorService, _ session: HTTP2ServerSession, slot: Int, _ record: RequestRecord,
    _ proof: ClientProof?)
}

extension ControlRequest: SideRequest {
  func take(
    _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ service: SimulatorService
  ) {
    take(name, value)
  }

  func append(_ bytes: UnsafeRawBufferPointer, _ service: SimulatorService) { append(bytes) }

  func forget(_ service: SimulatorService) { forget() }

  func answer(
    _ service: SimulatorService, _ session: HTTP2ServerSession, slot: Int, _ record: RequestRecord,
    _ proof: ClientProof?
  ) {
    answer(service, session, slot: slot, isGet: record.isGet, isPost: record.isPost)
  }
}
