import Processes

/// The ports of 127.0.0.1 that a development stack has, one behind the other, so that they are the
/// same at each start.
package struct DevelopmentPorts: Sendable, Equatable {
  /// IANA has given 8460 to 8465 to nobody, no server that we know takes them by default, and Linux
  /// gives none below 32,768 to outgoing connections.
  package static let usualBase = 8_460
  package static let count = 6

  package let base: Int

  /// - Parameter base: the first port, at most `maximumBase`.
  package init(base: Int = usualBase) { self.base = base }

  package static let maximumBase = 65_536 - count

  /// Of the API and the dashboard.
  package var api: Int { base }
  package var redis: Int { base + 1 }
  package var kafka: Int { base + 2 }
  package var apple: Int { base + 3 }
  package var android: Int { base + 4 }
  package var browsers: Int { base + 5 }

  package var named: [(name: String, port: Int)] {
    [
      ("the API", api), ("Redis", redis), ("Kafka", kafka), ("Apple's simulator", apple),
      ("Android's simulator", android), ("the browsers' simulator", browsers),
    ]
  }

  /// Throws, naming each port that somebody else listens on, and who does.
  /// - Parameter owner: the name of a process that listens on a port; nil where it cannot be seen.
  package func check(
    canBeListenedOn: (Int) -> Bool = LocalPort.canBeListenedOn,
    owner: (Int) -> String? = PortOwner.name
  ) throws(LocalRunError) {
    let taken = named.filter { !canBeListenedOn($0.port) }
    guard !taken.isEmpty else { return }
    let findings = taken.map { name, port in
      let who =
        owner(port).map { "\($0) has it" }
        ?? "`sudo ss -ltnp 'sport = :\(port)'` says who has it"
      return "port \(port), for \(name), is taken: \(who)"
    }
    throw LocalRunError(
      .unavailable, "end what has the port, or choose others with --port", findings: findings)
  }
}
