import Model

/// The fan-outs of a route that get nowhere while the server takes next to nothing: others go
/// before them, and segments keep no places for them. Shared by a route's topics.
final class StuckFanOuts {
  /// They stay known while they are here, so that no other takes an identity over.
  private var fanOuts: [ObjectIdentifier: FanOut] = [:]

  var isEmpty: Bool { fanOuts.isEmpty }

  func contains(_ fanOut: FanOut) -> Bool {
    !fanOuts.isEmpty && fanOuts[ObjectIdentifier(fanOut)] != nil
  }

  func isSame(as others: [FanOut]) -> Bool {
    others.count == fanOuts.count && others.allSatisfy(contains)
  }

  func replace(by others: [FanOut]) {
    fanOuts = Dictionary(uniqueKeysWithValues: others.map { (ObjectIdentifier($0), $0) })
  }
}
