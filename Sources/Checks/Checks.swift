import APNs
import Assembly
import Deliver
import Model
import Settings
import SingleRequests

/// Everything that a process needs, looked at before there is one.
package enum Checks {
  /// - Parameters:
  ///   - report: what was read of the configuration.
  ///   - process: whose it is.
  ///   - file: where it was read.
  ///   - connects: false: files only.
  ///   - timeout: how long each of Kafka, Redis and Apple may take.
  ///   - deniesWarnings: take warnings for problems.
  ///   - now: ms since 1970.
  package static func run(
    _ report: SettingsReport, for process: CheckedProcess, file: String?, connects: Bool,
    timeout: Duration, deniesWarnings: Bool, now: Int64
  ) async -> CheckList {
    var list = CheckList(deniesWarnings: deniesWarnings)
    let credentials = files(report, for: process, file: file, now: now, &list)
    guard connects else { return list }
    if !KafkaChecks.topics(of: process, report.read).isEmpty, mayConnect("kafka", report, &list) {
      KafkaChecks.run(report.read, for: process, timeout: timeout, &list)
    }
    if process.asksRedis, mayConnect("redis", report, &list) {
      list.append(
        await RedisChecks.run(
          report.read, for: process, timeout: timeout, deniesWarnings: deniesWarnings))
    }
    if process.asksApple, report.read.fcm.isConfigured, mayConnect("fcm", report, &list) {
      list.append(
        await FCMChecks.run(report.read, timeout: timeout, deniesWarnings: deniesWarnings))
    }
    if process.asksApple, mayConnect("apns", report, &list) {
      list.append(
        await APNsChecks.run(
          report.read, credentials, timeout: timeout, deniesWarnings: deniesWarnings, now: now))
    }
    return list
  }

  /// Checks that connect to nothing.
  /// - Returns: the credentials for Apple that are in order.
  static func files(
    _ report: SettingsReport, for process: CheckedProcess, file: String?, now: Int64,
    _ list: inout CheckList
  ) -> [CheckedCredentials] {
    FileChecks.configuration(report, file: file, &list)
    // Also with a configuration that is wrong elsewhere: its files may hold further problems.
    if process.compilesTemplates { FileChecks.templates(report.read, &list) }
    if process.looksForTemplates { FileChecks.templateNames(report.read, &list) }
    if process == .worker { FileChecks.rules(report.read, &list) }
    if process == .worker || process == .api {
      FileChecks.api(report.read, isNeeded: process == .api, now: now, &list)
    }
    let credentials =
      process.asksApple ? FileChecks.credentials(report, now: now, &list) : []
    if process == .worker { FileChecks.bounds(report, &list) }
    if process.asksApple {
      list.append(WebPushChecks.run(report.read, deniesWarnings: list.deniesWarnings))
    }
    return credentials
  }

  /// Without these one can see whether Apple's servers are there, but show them no credentials.
  private static func isCredential(_ key: String) -> Bool {
    let own = [
      "key_file", "key_id", "team_id", "certificate_file", "certificate_key_file",
      "certificate_passphrase_file",
    ]
    return key.hasPrefix("apns.apps") || own.contains { key == "apns." + $0 }
  }

  /// A mistake in one part of the configuration says nothing about the others.
  static func mayConnect(
    _ area: String, _ report: SettingsReport, _ list: inout CheckList
  ) -> Bool {
    let isWrong = report.problems.contains { problem in
      // A problem without a key is about the whole file.
      guard let key = problem.key else { return true }
      return (key == area || key.hasPrefix(area + ".")) && !isCredential(key)
    }
    if isWrong {
      list.skipped(
        "\(area).connection", "not connected to while its part of the configuration is wrong")
    }
    return !isWrong
  }
}

/// Credentials whose files are in order, to be shown to Apple.
struct CheckedCredentials {
  /// Of the apps that they are of; nil where there are no others.
  let name: String?
  /// Of the settings that they come from.
  let prefix: String
  let credentials: APNsCredentials

  var isCertificate: Bool { if case .certificate = credentials { true } else { false } }
}

/// Whether Apple's servers, or what stands for them, can be reached and take our credentials.
enum APNsChecks {
  /// No device has such a token, and none can get it: it is what Apple calls a BadDeviceToken. Nor
  /// is there a payload, so that a simulator, which takes any token, does not take this either.
  private static let probe = AppleRequest(
    path: "/3/device/" + String(repeating: "0", count: 64),
    fields: [.init("apns-push-type", "alert")])

  /// - Parameter wallClock: ms since 1970, to compare with the time that answers say; nil: it is
  ///   not compared.
  static func run(
    _ settings: Settings, _ credentials: [CheckedCredentials], timeout: Duration,
    deniesWarnings: Bool, now: Int64, wallClock: (@Sendable () -> Int64)? = nil
  ) async -> CheckList {
    var list = CheckList(deniesWarnings: deniesWarnings)
    let routes: [Destination: RouteTarget]
    do {
      routes = try Assembly.deliverRoutes(settings)
    } catch {
      list.add("apns.routes", error)
      return list
    }
    let limit = min(timeout, settings.apns.connectTimeout + settings.apns.requestTimeout)
    // Without credentials one can see whether the servers are there.
    let all = credentials.isEmpty ? [nil] : credentials.map { Optional($0) }
    for shown in all {
      var asked: [RouteTarget] = []
      for environment in Destination.all(of: .apns) {
        guard let route = routes[environment] else { continue }
        // A simulator stands for both.
        if asked.contains(where: { $0.endpoint == route.endpoint }) { continue }
        asked.append(route)
        let asked = wallClock?()
        let answer = await ask(route, environment, shown, timeout: limit, now: now, &list)
        if let asked, let answered = wallClock?() {
          ClockJudge(id: "apns.clock", name: "\(route.endpoint)").judge(
            date: answer?.field("date"), asked: asked, answered: answered, &list)
        }
      }
    }
    return list
  }

  private static func ask(
    _ route: RouteTarget, _ environment: Destination, _ shown: CheckedCredentials?,
    timeout: Duration, now: Int64, _ list: inout CheckList
  ) async -> AppleReply? {
    do {
      let authorized = try shown?.credentials.authorizing(route, now: now)
      let answer = await SingleRequest.ask(
        authorized == nil ? nil : probe, on: authorized?.route ?? route,
        authorization: authorized?.authorization, timeout: timeout)
      tell(answer, environment, route, shown, &list)
      return answer
    } catch {
      list.problem(
        "apns.credentials", .configuration, "\(environment.name): \(error)",
        key: (shown?.prefix ?? "apns.") + "key_file")
      return nil
    }
  }

  private static func tell(
    _ answer: AppleReply, _ environment: Destination, _ route: RouteTarget,
    _ shown: CheckedCredentials?, _ list: inout CheckList
  ) {
    let whose = shown?.name.map { " (\($0))" } ?? ""
    let name = "\(environment.name), \(route.endpoint)\(whose)"
    let isLegacy = route.interface != nil
    if isLegacy {
      list.warning(
        "apns.interface", .configuration,
        "\(name): the legacy binary interface, which Apple retired on 2021-03-31",
        key: "apns.\(environment.name).interface",
        hint: "it says nothing of what it takes, and nothing of credentials: docs/legacy.md")
    }
    if let milliseconds = answer.connectMilliseconds {
      list.ok(
        "apns.connection", "\(name): \(isLegacy ? "TLS" : "TLS and HTTP/2") in \(milliseconds) ms")
    }
    if let failure = answer.failure {
      list.problem(
        // The transport's error names the server already.
        "apns.connection", .outage, "\(answer.error == nil ? name : environment.name): \(failure)",
        hint: answer.hint)
      return
    }
    guard !isLegacy else { return }
    guard let shown, let status = answer.status else {
      list.skipped("apns.credentials", "\(name): without credentials nothing was asked")
      return
    }
    let reason = answer.reason ?? "without a reason"
    judge(status, reason, shown, name, environment, &list)
  }

  /// 400 speaks of the device that cannot exist: the credentials were taken.
  private static func judge(
    _ status: Int, _ reason: String, _ shown: CheckedCredentials, _ name: String,
    _ environment: Destination, _ list: inout CheckList
  ) {
    let isCertificate = shown.isCertificate
    let what = isCertificate ? "certificate" : "provider token"
    switch status {
    case 400, 410: list.ok("apns.credentials", "\(name): takes the \(what)")
    case 403:
      list.problem(
        "apns.credentials", .configuration, "\(name): refuses the \(what): \(reason)",
        key: shown.prefix + (isCertificate ? "certificate_file" : "key_file"),
        hint: isCertificate
          ? "is it for this environment, and not revoked?"
          : "do key_id and team_id belong to this key, is it for this environment, and "
            + "is the clock right?")
    case 429:
      list.warning(
        "apns.credentials", .dependency,
        "\(name): \(reason): too many provider tokens in a short time",
        hint: "check again in 20 minutes")
    case 500...599:
      list.problem("apns.answer", .dependency, "\(name): answers \(status) \(reason)")
    default:
      list.problem(
        "apns.answer", .configuration,
        "\(name): answers \(status) \(reason), as Apple's service never does",
        key: "apns.\(environment.name).host")
    }
  }
}
