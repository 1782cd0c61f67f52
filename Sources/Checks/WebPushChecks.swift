import Assembly
import Settings
import Terminal

/// Whether there are VAPID key pairs. No push service can be asked whether it takes them: each
/// takes those that its subscriptions were made with.
enum WebPushChecks {
  static func run(_ settings: Settings, deniesWarnings: Bool) -> CheckList {
    var list = CheckList(deniesWarnings: deniesWarnings)
    do {
      guard let files = try WebPushKeyFiles(settings) else { return list }
      for (id, key) in files.publicKeys {
        list.ok(
          "webpush.keys", "VAPID key pair \(id): browsers subscribe with the public key \(key)")
      }
      if settings.webpush.hosts.contains("*") {
        list.warning(
          "webpush.hosts", .configuration, "endpoints may name any host with a public address",
          key: "webpush.hosts",
          hint: "users choose whom the workers connect to: name the hosts that you need")
      }
    } catch {
      list.add("webpush.keys", error)
    }
    return list
  }
}
