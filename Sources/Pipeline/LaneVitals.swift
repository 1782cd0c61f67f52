/// How a lane is at the moment: for the heartbeat.
package struct LaneVitals: Sendable {
  package let ready: Int
  package let inFlight: Int
  package let connections: Int
  /// Segments whose pushes were all tried and are not all settled.
  package let lingering: Int
  /// Dependencies that are waited for, in words.
  package let waitsFor: [String]
  /// What pushes cannot pass, in words.
  package let obstacles: [String]
}
