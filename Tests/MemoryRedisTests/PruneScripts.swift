@testable import Record

enum PruneScripts {
  static let prune = PruneScript.prune.source
}
