/// The only thing that a gateway of the binary interface ever says: command 8, a status and the
/// identifier of the notification that it is about. It closes the connection afterwards.
package struct LegacyErrorResponse: Sendable, Equatable {
  package static let command: UInt8 = 8
  package static let byteCount = 6

  package let status: LegacyStatus
  package let identifier: UInt32

  package init(status: LegacyStatus, identifier: UInt32) {
    self.status = status
    self.identifier = identifier
  }

  /// Nil unless these are the six bytes of one.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.byteCount, bytes[0] == Self.command else { return nil }
    status = LegacyStatus(bytes[1])
    identifier = BigEndian.number(bytes[2..<6])
  }
}
