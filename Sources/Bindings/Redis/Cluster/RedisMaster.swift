import Transport

/// A server that commands without a key can be sent to.
package struct RedisMaster: Sendable, Hashable, CustomStringConvertible {
  let endpoint: Endpoint

  init(_ endpoint: Endpoint) { self.endpoint = endpoint }

  package var description: String { "\(endpoint)" }
}
