import Transport

/// Where to go on when a name led to a replica: to the name's other addresses, one after the other,
/// and then to the master that a replica has named. Pure.
struct MasterSearch {
  enum Step: Equatable {
    /// The name again: its other addresses come first now.
    case nextAddress
    case master(Endpoint)
  }

  /// A name that leads to more is a mistake, or an attack.
  static let maximumAddresses = 16
  /// A replica may follow a replica. More in a row are a circle.
  static let maximumMasters = 3

  private var replicas = 0
  private var masters = 0
  /// What the first replica said, and the last master that one of them named.
  private(set) var obstacle: RedisError?
  private(set) var master: Endpoint?

  /// - Parameters:
  ///   - role: what the server says that was reached last.
  ///   - addressCount: of the name.
  /// - Returns: nil when it is no replica, or there is nowhere else to go.
  mutating func step(
    after role: RedisRole, _ obstacle: RedisError, addressCount: Int
  ) -> Step? {
    guard case .replica(let named) = role else { return nil }
    self.obstacle = self.obstacle ?? obstacle
    replicas += 1
    if masters == 0, replicas < min(addressCount, Self.maximumAddresses) { return .nextAddress }
    guard masters < Self.maximumMasters, let endpoint = Self.endpoint(named) else { return nil }
    masters += 1
    master = endpoint
    return .master(endpoint)
  }

  /// Of `host:port`, as ROLE gives them.
  private static func endpoint(_ text: String) -> Endpoint? {
    guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
      (1...65_535).contains(port)
    else { return nil }
    let host = String(text[..<colon])
    return host.isEmpty || host == "?" ? nil : Endpoint(host: host, port: port)
  }

  /// Why there is no connection, when the last of them was lost.
  func failure(_ error: RedisError) -> RedisError {
    guard let obstacle else { return error }
    return RedisError(obstacle.code, obstacle.message, cause: "its master: \(error)")
  }
}
