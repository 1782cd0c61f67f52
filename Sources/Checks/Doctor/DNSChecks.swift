import EventLoop
import Settings
import Terminal
import Text
import Transport

/// Whether the names of all servers lead to addresses, and how long that takes.
enum DNSChecks {
  /// A nameserver that lives answers within milliseconds, or asks others for some hundreds of them;
  /// a dead one takes 5 s.
  static let slow = Duration.seconds(1)

  /// The answer for one host.
  struct LookUp: Sendable {
    var host: String
    /// Nil: there was none in time.
    var answer: NameResolver.Answer?
    var time: Duration
  }

  /// - Parameter timeout: of each look-up; they go out at the same time.
  static func run(
    _ servers: [CheckedServer], names: NameResolver, timeout: Duration, _ list: inout CheckList
  ) async {
    var hosts: [(endpoint: Endpoint, server: CheckedServer)] = []
    for server in servers {
      let endpoint = server.dialled
      if case .success = Resolver.numeric(endpoint) { continue }
      if hosts.contains(where: { $0.endpoint.host == endpoint.host }) { continue }
      hosts.append((endpoint, server))
    }
    guard !hosts.isEmpty else {
      return list.ok("dns.names", "every server is named by its address: nothing is looked up")
    }
    let lookUps = await lookUps(hosts.map(\.endpoint), names, timeout)
    for (host, lookUp) in zip(hosts, lookUps) { judge(lookUp, host.server, &list) }
  }

  static func judge(_ lookUp: LookUp, _ server: CheckedServer, _ list: inout CheckList) {
    let host = lookUp.host
    let time = DurationText.text(lookUp.time)
    let dead = "is the first nameserver of /etc/resolv.conf dead? Each look-up waits for it"
    switch lookUp.answer {
    case nil:
      list.problem(
        "dns.names", .dependency, "\(host) (\(server.name)) has no address after \(time)", of: host,
        key: server.key, hint: "are the nameservers of /etc/resolv.conf alive?")
    case .failure(let error):
      list.problem(
        "dns.names", .dependency, "\(server.name): \(error.message)", of: host, key: server.key,
        hint: "is the host's name right, and does DNS work here?")
    case .success(let addresses):
      let text = "\(host) (\(server.name)) leads to \(words(addresses)), after \(time)"
      if lookUp.time > slow {
        list.warning(
          "dns.names", .dependency, "\(text): at most \(DurationText.text(slow)) is well", of: host,
          hint: dead)
      } else {
        list.ok("dns.names", text, of: host)
      }
    }
  }

  /// `10.0.0.1, 10.0.0.2 and fd00::1 (IPv6)`
  private static func words(_ addresses: [SocketAddress]) -> String {
    guard !addresses.isEmpty else { return "no address" }
    return addresses.map { $0.isIPv6 ? "\($0.host) (IPv6)" : $0.host }.joined(separator: ", ")
  }

  /// All at the same time, in the order of the hosts.
  private static func lookUps(
    _ endpoints: [Endpoint], _ names: NameResolver, _ timeout: Duration
  ) async -> [LookUp] {
    await withTaskGroup(of: (Int, LookUp).self) { group in
      for (index, endpoint) in endpoints.enumerated() {
        group.addTask { (index, await lookUp(endpoint, names, timeout)) }
      }
      var all: [(Int, LookUp)] = []
      for await one in group { all.append(one) }
      return all.sorted { $0.0 < $1.0 }.map(\.1)
    }
  }

  private static func lookUp(
    _ endpoint: Endpoint, _ names: NameResolver, _ timeout: Duration
  ) async -> LookUp {
    await EventLoop.temporary("dns") { (_: isolated LoopActor, loop: EventLoop) async -> LookUp in
      let began = loop.clock
      let answer = await names.answer(for: endpoint, on: loop, within: timeout)
      let time = Duration.nanoseconds(Int64(clamping: loop.clock &- began))
      return LookUp(host: endpoint.host, answer: answer, time: time)
    }
  }
}
