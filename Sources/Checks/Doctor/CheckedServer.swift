import APNs
import Assembly
import Deliver
import Model
import Redis
import Settings
import Transport

/// A server that a process connects to, and how.
struct CheckedServer: Sendable {
  /// For people: `Redis`, `APNs production`.
  let name: String
  let endpoint: Endpoint
  /// Nil: without TLS.
  let security: ClientSecurity?
  let proxy: HTTPProxy?
  /// Of the setting that names it.
  let key: String

  /// The host whose name is looked up here: a proxy looks the server's name up itself.
  var dialled: Endpoint { proxy?.endpoint ?? endpoint }

  /// Those of the settings, each once. Nobody knows which push services browsers will name.
  static func all(
    _ settings: Settings, for process: CheckedProcess
  ) throws(SettingsError) -> [CheckedServer] {
    var servers: [CheckedServer] = []
    if !KafkaChecks.topics(of: process, settings).isEmpty { servers += try kafka(settings) }
    if process.asksRedis { servers += try redis(settings) }
    if process.asksApple { servers += try platforms(settings) }
    var seen: Set<String> = []
    return servers.filter { seen.insert("\($0.endpoint) \($0.security != nil)").inserted }
  }

  private static func kafka(_ settings: Settings) throws(SettingsError) -> [CheckedServer] {
    let security = try Assembly.kafkaSecurity(settings)
    return settings.kafka.bootstrapServers.compactMap { Assembly.endpoint($0) }.map {
      CheckedServer(
        name: "Kafka", endpoint: $0, security: security, proxy: nil,
        key: "kafka.bootstrap_servers")
    }
  }

  private static func redis(_ settings: Settings) throws(SettingsError) -> [CheckedServer] {
    let options = try Assembly.redisOptions(settings)
    func server(_ endpoint: Endpoint, _ security: ClientSecurity?, _ key: String) -> CheckedServer {
      CheckedServer(name: "Redis", endpoint: endpoint, security: security, proxy: nil, key: key)
    }
    if let sentinel = options.sentinel {
      let security: ClientSecurity? = if let own = sentinel.tls { own } else { options.tls }
      return sentinel.nodes.map { server($0, security, "redis.sentinel.nodes") }
    }
    guard options.clusterNodes.isEmpty else {
      return options.clusterNodes.map { server($0, options.tls, "redis.cluster") }
    }
    return [server(options.endpoint, options.tls, "redis.host")]
  }

  private static func platforms(_ settings: Settings) throws(SettingsError) -> [CheckedServer] {
    let routes = try Assembly.deliverRoutes(settings)
    var servers: [CheckedServer] = []
    // With no credentials for Apple nothing is sent there.
    if !CredentialGroup.all(settings).isEmpty {
      for environment in Destination.all(of: .apns) {
        guard let route = routes[environment] else { continue }
        servers.append(
          CheckedServer(
            name: "APNs \(environment.name)", endpoint: route.endpoint, security: route.tls,
            proxy: route.proxy, key: "apns.\(environment.name).host"))
      }
    }
    if let route = routes[.fcm] {
      servers.append(
        CheckedServer(
          name: "FCM", endpoint: route.endpoint, security: route.tls, proxy: route.proxy,
          key: "fcm.host"))
    }
    if let route = routes[.webpush], let endpoint = route.connectTo {
      // Its certificate is for the push services that stand in the place of the name.
      servers.append(
        CheckedServer(
          name: "Web Push", endpoint: endpoint, security: nil, proxy: route.proxy,
          key: "webpush.connect_to"))
    } else if let proxy = routes[.webpush]?.proxy {
      servers.append(
        CheckedServer(
          name: "the proxy of Web Push", endpoint: proxy.endpoint, security: nil, proxy: nil,
          key: "webpush.proxy.host"))
    }
    return servers
  }
}
