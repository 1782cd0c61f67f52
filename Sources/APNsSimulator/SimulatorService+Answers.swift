import HTTP2

/// What stands in answers besides what the connection knows.
extension SimulatorService {
  /// Answers that a push was taken. The development environment gives it an identifier of its own,
  /// which Apple's console shows.
  func accept(_ session: HTTP2ServerSession, slot: Int, identifier: UnsafeRawBufferPointer) {
    guard options.isDevelopment else {
      let none = UnsafeRawBufferPointer(start: nil, count: 0)
      return heads.accept(session, slot: slot, identifier: identifier, unique: none)
    }
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: RequestRules.identifierCount) {
      if let start = $0.baseAddress { makeIdentifier(into: start) }
      heads.accept(
        session, slot: slot, identifier: identifier, unique: UnsafeRawBufferPointer($0))
    }
  }
}
