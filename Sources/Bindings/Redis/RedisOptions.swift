import EventLoop
import Transport

/// How a client reaches Redis. Printing it shows no password.
package struct RedisOptions: Sendable, CustomStringConvertible {
  package var host: String
  package var port: Int
  /// Of a Redis Cluster: nodes to begin with, in the place of `host` and `port`; the others are
  /// learned from them. Empty: there is one Redis.
  package var clusterNodes: [Endpoint]
  /// The sentinels that know where the one Redis is, in the place of `host` and `port`.
  package var sentinel: RedisSentinel?
  /// ACL user; nil is Redis's `default`. Of no use without a password.
  package var username: String?
  package var password: String?
  package var database: Int
  /// Nil: no TLS.
  package var tls: ClientSecurity?
  /// The network to its servers; nil: the system's.
  package var network: (any Network)?
  /// Called before each attempt to connect: sets the password and `tls` as their files have them
  /// now, since tokens and certificates are replaced there. Returns what is wrong with them, once;
  /// what was read before is used on.
  package var refresh: (@Sendable (inout RedisOptions) -> String?)?
  /// Resolves the servers' names.
  package var names = NameResolver.system
  /// Shown by CLIENT LIST; letters, digits and `-._:`. Nil: none is set.
  package var clientName: String?
  /// For TCP and TLS together, and once more for the handshake on top (AUTH, SELECT). Names have
  /// `resolveTimeout`.
  package var connectTimeout: Duration
  package var resolveTimeout: Duration = .seconds(15)
  /// From `execute` to the last reply, the wait for a connection included, but for the first
  /// look-up of a name.
  package var commandTimeout: Duration
  /// How often a connection is asked whether it still leads to the same master: how soon one that
  /// was dropped in silence is found while nobody uses it.
  package var checkInterval: Duration
  /// How often a cluster is asked who serves which slots while nothing says that this has changed.
  var clusterInterval: Duration
  /// First and longest wait before another attempt to connect; each is shortened by up to half at
  /// random.
  package var reconnectMinimum: Duration
  package var reconnectMaximum: Duration
  /// How many replicas must have what a script wrote that is to outlive its server. 0: nobody asks.
  package var replicasToWaitFor: Int
  /// How far behind its master a replica may be that reads which may lag go to. Nil: they go to the
  /// master as all others.
  package var replicaLagLimit: Duration?
  /// The most memory that the replies of one pipeline may take together, 16 bytes an element
  /// included, unless it has a limit of its own; refuses a 512 MB string.
  package var maximumReplyBytes: Int
  /// Pipelines that wait or are unanswered. One lane has a handful; more means that somebody does
  /// not wait.
  var maximumPipelines: Int

  package init(
    host: String = "127.0.0.1", port: Int = 6379, clusterNodes: [Endpoint] = [],
    sentinel: RedisSentinel? = nil, username: String? = nil, password: String? = nil,
    database: Int = 0, tls: ClientSecurity? = nil,
    clientName: String? = nil, connectTimeout: Duration = .seconds(5),
    commandTimeout: Duration = .seconds(5), checkInterval: Duration = .seconds(5),
    clusterInterval: Duration = .seconds(30), reconnectMinimum: Duration = .milliseconds(100),
    reconnectMaximum: Duration = .seconds(5), replicasToWaitFor: Int = 0,
    replicaLagLimit: Duration? = nil, maximumReplyBytes: Int = 64 << 20,
    maximumPipelines: Int = 4096
  ) {
    self.host = host
    self.port = port
    self.clusterNodes = clusterNodes
    self.sentinel = sentinel
    self.username = username
    self.password = password
    self.database = database
    self.tls = tls
    self.clientName = clientName
    self.connectTimeout = connectTimeout
    self.commandTimeout = commandTimeout
    self.checkInterval = checkInterval
    self.clusterInterval = clusterInterval
    self.reconnectMinimum = reconnectMinimum
    self.reconnectMaximum = reconnectMaximum
    self.replicasToWaitFor = replicasToWaitFor
    self.replicaLagLimit = replicaLagLimit
    self.maximumReplyBytes = maximumReplyBytes
    self.maximumPipelines = maximumPipelines
  }

  package var endpoint: Endpoint { Endpoint(host: host, port: port) }

  /// For messages: `Redis 127.0.0.1:6379`.
  var name: String { sentinel.map { "Redis master \($0.master)" } ?? "Redis \(endpoint)" }

  /// The same for one server of several.
  func at(_ node: Endpoint) -> RedisOptions {
    var options = self
    options.host = node.host
    options.port = node.port
    options.clusterNodes = []
    options.sentinel = nil
    return options
  }

  /// A connection that is not begun yet.
  func connection(
    to endpoint: Endpoint, _ loop: EventLoop, _ addresses: AddressBook? = nil,
    delegate: any ConnectionDelegate
  ) -> Connection {
    var transport = TransportOptions(connectTimeout: connectTimeout, resolveTimeout: resolveTimeout)
    transport.names = names
    transport.network = network
    return Connection(
      to: endpoint, tls: tls, options: transport, addresses: addresses, loop: loop,
      delegate: delegate)
  }

  /// With the password and certificates of this moment.
  func refreshed(_ log: (String) -> Void) -> RedisOptions {
    var fresh = self
    if let complaint = refresh?(&fresh) { log("\(name): \(complaint)") }
    return fresh
  }

  package var description: String {
    let scheme = tls == nil ? "redis" : "rediss"
    let user = username.map { "\($0)@" } ?? ""
    let nodes = sentinel?.nodes ?? (clusterNodes.isEmpty ? [endpoint] : clusterNodes)
    let master = sentinel.map { "\($0.master)@" } ?? ""
    let places = master + nodes.map { "\($0)" }.joined(separator: ",")
    return "\(scheme)://\(user)\(places)/\(database)"
  }
}
