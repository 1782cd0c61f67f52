/// One command of a pipeline, for who divides it among nodes.
struct ScannedCommand: Equatable {
  /// Its bytes in the pipeline.
  let bytes: Range<Int>
  /// Nil: no command of the pipeline has a key.
  let slot: Int?
  /// The command whose key gave the slot, itself or a neighbour: INFO behind SSCAN says which
  /// process has answered the SSCAN, and must go wherever that goes.
  let leader: Int
}
