import Transport

/// Sentinels know which server is the master now.
package struct RedisSentinel: Sendable {
  /// They are asked one after the other, before each attempt to connect.
  package var nodes: [Endpoint]
  /// The name under which they watch the master.
  package var master: String
  /// Theirs, not the master's.
  package var username: String?
  package var password: String?
  /// Nil: as for the master. Otherwise what it holds, nil for none.
  package var tls: ClientSecurity??
  /// As that of the options; nil: nothing changes but what the master's says of TLS.
  package var refresh: (@Sendable (inout RedisOptions) -> String?)?

  package init(
    nodes: [Endpoint], master: String, username: String? = nil, password: String? = nil
  ) {
    self.nodes = nodes
    self.master = master
    self.username = username
    self.password = password
  }

  /// `SENTINEL GET-MASTER-ADDR-BY-NAME`: host and port, or nil for a name that is not watched.
  var question: RedisInquiry<Endpoint>.Question {
    RedisInquiry.Question(
      command: ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", master], maximumReplyBytes: 1 << 16
    ) { [master] (reply, asked) throws(RedisError) in
      if let error = reply.error {
        throw RedisError(
          .refused, "\(asked) does not say which server is the master", cause: error.excerpt)
      }
      guard let host = reply[0].text, !host.isEmpty, let port = reply[1].decimal,
        (1...65_535).contains(port)
      else { throw RedisError(.refused, "the sentinel \(asked) watches no master \(master)") }
      return Endpoint(host: host, port: Int(port))
    }
  }
}

extension RedisOptions {
  /// How a sentinel is reached: it has no databases, and no users of the master's.
  var toSentinels: RedisOptions {
    var options = self
    options.database = 0
    options.username = sentinel?.username
    options.password = sentinel?.password
    if let tls = sentinel?.tls { options.tls = tls }
    options.refresh = sentinel?.refresh
    options.sentinel = nil
    return options
  }
}
