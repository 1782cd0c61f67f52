import Deliver
import Pipeline
import Settings
import Subscriptions
import TLS
import Telemetry
import Threads
import Transport
import WebPush

/// The VAPID key pairs that `webpush` leads to, now and whenever others are put in their place.
package final class WebPushKeyFiles: Sendable {
  package let services: WebPushServices

  private let settings: Settings.WebPush
  private let subject: VAPIDSubject
  private let ring: VAPIDKeyRing
  private let state: ThreadLock<State>

  private struct State {
    /// Of the files that are used: the keys themselves are not kept.
    var hash: Int
    /// Why what was found last is not used; nil when it is.
    var refusal: String?
  }

  /// Nil where nothing goes to browsers.
  package init?(_ settings: Settings) throws(SettingsError) {
    let webpush = settings.webpush
    guard webpush.isConfigured else { return nil }
    self.settings = webpush
    guard let subject = webpush.subject.flatMap({ VAPIDSubject($0) }) else {
      throw Assembly.problem(
        "webpush.subject", "must be mailto: and an address, or an https: URL, of a real domain")
    }
    self.subject = subject
    let pairs: [VAPIDKeys]
    let hash: Int
    do throws(KeyComplaint) {
      (pairs, hash) = try Self.read(webpush)
    } catch {
      throw Assembly.problem(error.key, error.message)
    }
    ring = VAPIDKeyRing(VAPIDKeyRing.Keys(subject: subject, pairs: pairs))
    state = ThreadLock(State(hash: hash))
    let monotonic: @Sendable () -> UInt64 = { MonotonicClock.nowNanoseconds() }
    services = WebPushServices(
      ring, MessageEncryption(freshKeys: webpush.keyPairPerMessage, monotonic: monotonic),
      rules: Assembly.subscriptionRules(settings).endpoints,
      wallClock: { WallClock.nowMilliseconds() }, monotonic: monotonic)
  }

  private struct KeyComplaint: Error {
    let key: String
    let message: String
  }

  /// The current pair first.
  private static func read(
    _ settings: Settings.WebPush
  ) throws(KeyComplaint) -> ([VAPIDKeys], Int) {
    var hasher = Hasher()
    var pairs: [VAPIDKeys] = []
    let former = settings.formerVAPIDKeys.sorted { $0.key < $1.key }.map {
      (key: "webpush.former_vapid_keys", id: $0.key, path: $0.value)
    }
    let current = (
      key: "webpush.vapid_key_file", id: settings.vapidKeyID, path: settings.vapidKeyFile ?? ""
    )
    for (key, id, path) in [current] + former {
      do {
        let file = try BoundedFile.read(path, maximumBytes: maximumKeyBytes)
        file.bytes.hash(into: &hasher)
        pairs.append(
          try VAPIDKeys(id: id, privateKey: String(decoding: file.bytes, as: UTF8.self)))
      } catch {
        let words = (error as? SettingComplaint)?.message ?? "\(Shown.path(path)): \(error)"
        throw KeyComplaint(key: key, message: words)
      }
    }
    return (pairs, hasher.finalize())
  }

  /// Of a private key's file.
  private static let maximumKeyBytes = 16 << 10

  /// The public keys, as a page gives them to the browser (`applicationServerKey`), by id.
  package var publicKeys: [(id: String, key: String)] {
    ring.current.pairs.map { ($0.id, $0.applicationServerKey) }
  }

  // MARK: while the worker runs

  /// Uses the keys that are there now, if they can be used. Says each change once.
  package func look() -> CredentialChange? {
    state.withLock { state in
      do throws(KeyComplaint) {
        let (pairs, hash) = try Self.read(settings)
        state.refusal = nil
        guard hash != state.hash else { return nil }
        state.hash = hash
        ring.use(VAPIDKeyRing.Keys(subject: subject, pairs: pairs))
        return .replaced("VAPID key pairs \(pairs.map(\.id).joined(separator: ", "))")
      } catch {
        guard state.refusal != error.message else { return nil }
        state.refusal = error.message
        return .refused(error.message)
      }
    }
  }

  package var isUnfit: Bool { state.withLock { $0.refusal != nil } }
}

extension Assembly {
  /// Which browsers' subscriptions are taken, and sent to.
  package static func subscriptionRules(_ settings: Settings) -> SubscriptionRules {
    let webpush = settings.webpush
    let hosts = webpush.hosts.flatMap { $0 == "browsers" ? EndpointRules.browsers : [$0] }
    return SubscriptionRules(
      endpoints: EndpointRules(
        hosts: hosts.contains("*") ? .open : .suffixes(hosts),
        ports: Set(webpush.ports.compactMap { Int($0) })),
      keyIDs: [webpush.vapidKeyID] + webpush.formerVAPIDKeys.keys.sorted())
  }

  /// The target that routes to all push services share; each has its own endpoint.
  ///
  /// A proxy is given names of hosts that the operator has listed: many let nothing else through,
  /// and behind one a worker may know no names of the Internet. Where any host may be named, the
  /// name could lead into the operator's own network, so the worker looks it up and gives the proxy
  /// an address that it has checked.
  static func webPushTarget(_ settings: Settings) throws(SettingsError) -> RouteTarget {
    let webpush = settings.webpush
    var target = RouteTarget(
      endpoint: Endpoint(host: "push.invalid", port: 443),
      tls: try security("webpush.ca_file", webpush.caFile, protocols: ["h2"]),
      proxy: proxy(webpush.proxy))
    target.connections = RouteTarget.Connections(
      usual: webpush.connectionsPerLane, most: webpush.mostConnectionsPerLane,
      streams: webpush.streamsPerConnection)
    // Services of the browsers speak HTTP/2; any other may not.
    target.mayUseHTTP1 = true
    let mayResolve = target.proxy == nil || webpush.hosts.contains("*")
    if webpush.connectTo == nil, mayResolve {
      target.refusesAddress = { AddressRules.refuses($0) }
    }
    target.connectTo = webpush.connectTo.flatMap { text in
      text.lastIndex(of: ":").map {
        Endpoint(
          host: text[..<$0].trimmingBrackets, port: Int(text[text.index(after: $0)...]) ?? 0)
      }
    }
    return target
  }
}

extension Substring {
  /// Of an IPv6 address.
  fileprivate var trimmingBrackets: String {
    hasPrefix("[") && hasSuffix("]") ? String(dropFirst().dropLast()) : String(self)
  }
}
