import Transport

/// The nodes that serve a cluster's slots, for people.
package struct RedisClusterState: Sendable {
  package let masters: [(master: RedisMaster, slots: Int)]
  /// Slots that nobody serves, such as `0-99, 5461`; nil when all are served.
  package let unserved: String?

  init(_ map: ClusterMap) {
    masters = zip(map.masters, map.slotCounts).filter { $0.1 > 0 }.map {
      (RedisMaster($0.0), $0.1)
    }
    unserved = Self.text(map.unserved)
  }

  /// The first few: a message is to be read.
  private static func text(_ ranges: [ClosedRange<Int>]) -> String? {
    guard !ranges.isEmpty else { return nil }
    let shown = ranges.prefix(8).map {
      $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound)-\($0.upperBound)"
    }
    return (shown + (ranges.count > 8 ? ["…"] : [])).joined(separator: ", ")
  }
}

/// A server that commands without a key can be sent to.
package struct RedisMaster: Sendable, Hashable, CustomStringConvertible {
  let endpoint: Endpoint

  init(_ endpoint: Endpoint) { self.endpoint = endpoint }

  package var description: String { "\(endpoint)" }
}
