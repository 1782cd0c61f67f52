import Assembly
import Settings
import Terminal

/// Whether FCM, or what stands for it, can be reached and takes our credentials.
enum FCMChecks {
  private static let area = "fcm"

  static func run(
    _ settings: Settings, timeout: Duration, deniesWarnings: Bool
  ) async -> CheckList {
    var list = CheckList(deniesWarnings: deniesWarnings)
    do {
      guard let files = try FCMCredentialFiles(settings),
        let target = try Assembly.deliverRoutes(settings)[.fcm]
      else { return list }
      let key = "fcm." + (settings.fcm.tokenFile == nil ? "service_account_file" : "token_file")
      switch await files.ask(target, timeout: timeout) {
      case .taken: list.ok(area, "\(target.endpoint): takes the access token")
      case .refused(let why):
        list.problem(
          area, .configuration, "\(target.endpoint): \(why)", key: key,
          hint: "may the account send messages of this project, and is its key still valid?")
      case .unreachable(let why):
        list.problem(area, .dependency, "\(target.endpoint): \(why)")
      }
    } catch {
      list.add(area, error)
    }
    return list
  }
}
