import HTTP2

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
