import Model

/// A device that has gone from one user to another.
package struct DeviceMove: Sendable, Equatable {
  package let from: String
  package let to: String
  /// As the second user has bound it.
  package let binding: Binding
}

/// Hears of moves before they are forgotten: while it throws, or its process dies, whoever binds
/// the device next tells of them again.
package typealias TellMoves = @Sendable ([DeviceMove]) async throws(DevicesError) -> Void
