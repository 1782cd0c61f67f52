import Assembly
import Deliver
import Settings
import Terminal

/// Whether FCM, or what stands for it, can be reached and takes our credentials for each project.
enum FCMChecks {
  static func run(
    _ settings: Settings, timeout: Duration, deniesWarnings: Bool
  ) async -> CheckList {
    var list = CheckList(deniesWarnings: deniesWarnings)
    do {
      guard let target = try Assembly.deliverRoutes(settings)[.fcm] else { return list }
      for files in try FCMCredentialFiles.all(settings) {
        let verdict = await files.ask(target, timeout: timeout)
        tell(verdict, files, target, &list)
      }
    } catch {
      list.add("fcm.credentials", error)
    }
    return list
  }

  private static func tell(
    _ verdict: FCMCredentialFiles.Verdict, _ files: FCMCredentialFiles, _ target: RouteTarget,
    _ list: inout CheckList
  ) {
    let whose = files.name.map { " (\($0))" } ?? ""
    let tried = "\(files.projectName)\(whose), \(target.endpoint)"
    switch verdict {
    case .taken:
      list.ok("fcm.credentials", "\(tried): takes the access token of \(files.sourceName)")
    case .refused(let why):
      list.problem(
        "fcm.credentials", .configuration, "\(tried), \(files.sourceName): \(why)",
        key: files.group.key,
        hint: hint(files.group.account.sources.first))
    case .unreachable(let why):
      list.problem("fcm.connection", .outage, "\(tried): \(why)")
    }
  }

  private static func hint(_ source: String?) -> String {
    switch source {
    case "token_file": "is the token of the file still valid, and for this project?"
    case "token_command":
      "run the command by hand, as the worker's user: its token must be for this project"
    case "metadata":
      "does this machine have a service account, and may it send messages of this project?"
    default: "may the account send messages of this project, and is its key still valid?"
    }
  }
}
