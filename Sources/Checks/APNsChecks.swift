import APNs
import Assembly
import Deliver
import Model
import Settings
import SingleRequests

/// Whether Apple's servers, or what stands for them, can be reached and take our credentials.
enum APNsChecks {
  private static let area = "apns"
  /// No device has such a token, and none can get it: it is what Apple calls a BadDeviceToken. Nor
  /// is there a payload, so that a simulator, which takes any token, does not take this either.
  private static let probe = AppleRequest(
    path: "/3/device/" + String(repeating: "0", count: 64),
    fields: [.init("apns-push-type", "alert")])

  static func run(
    _ settings: Settings, _ credentials: [CheckedCredentials], timeout: Duration,
    deniesWarnings: Bool, now: Int64
  ) async -> CheckList {
    var list = CheckList(deniesWarnings: deniesWarnings)
    let routes: [Destination: APNsRoute]
    do {
      routes = try Assembly.deliverRoutes(settings)
    } catch {
      list.add(area, error)
      return list
    }
    let limit = min(timeout, settings.apns.connectTimeout + settings.apns.requestTimeout)
    // Without credentials one can see whether the servers are there.
    let all = credentials.isEmpty ? [nil] : credentials.map { Optional($0) }
    for shown in all {
      var asked: [APNsRoute] = []
      for environment in Destination.all {
        guard let route = routes[environment] else { continue }
        // A simulator stands for both.
        if asked.contains(where: { $0.endpoint == route.endpoint }) { continue }
        asked.append(route)
        await ask(route, environment, shown, timeout: limit, now: now, &list)
      }
    }
    return list
  }

  private static func ask(
    _ route: APNsRoute, _ environment: Destination, _ shown: CheckedCredentials?,
    timeout: Duration, now: Int64, _ list: inout CheckList
  ) async {
    do {
      let proven = try shown?.credentials.proven(route, now: now)
      let answer = await SingleRequest.ask(
        proven == nil ? nil : probe, on: proven?.route ?? route,
        authorization: proven?.authorization, timeout: timeout)
      tell(answer, environment, route, shown, &list)
    } catch {
      list.problem(
        area, .configuration, "\(environment.name): \(error)",
        key: (shown?.prefix ?? "apns.") + "key_file")
    }
  }

  private static func tell(
    _ answer: AppleReply, _ environment: Destination, _ route: APNsRoute,
    _ shown: CheckedCredentials?, _ list: inout CheckList
  ) {
    let whose = shown?.name.map { " (\($0))" } ?? ""
    let name = "\(environment.name), \(route.endpoint)\(whose)"
    let isLegacy = route.interface != .http2
    if isLegacy {
      list.warning(
        area, .configuration,
        "\(name): the legacy binary interface, which Apple retired on 2021-03-31",
        key: "apns.\(environment.name).interface",
        hint: "it says nothing of what it takes, and nothing of credentials: docs/legacy.md")
    }
    if let milliseconds = answer.connectMilliseconds {
      list.ok(area, "\(name): \(isLegacy ? "TLS" : "TLS and HTTP/2") in \(milliseconds) ms")
    }
    if let failure = answer.failure {
      list.problem(
        // What the transport says names the server already.
        area, .dependency, "\(answer.error == nil ? name : environment.name): \(failure)",
        hint: answer.hint)
      return
    }
    guard !isLegacy else { return }
    guard let shown, let status = answer.status else {
      list.skipped(area, "\(name): without credentials nothing was asked")
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
    case 400, 410: list.ok(area, "\(name): takes the \(what)")
    case 403:
      list.problem(
        area, .configuration, "\(name): refuses the \(what): \(reason)",
        key: shown.prefix + (isCertificate ? "certificate_file" : "key_file"),
        hint: isCertificate
          ? "is it for this environment, and not revoked?"
          : "do key_id and team_id belong to this key, is it for this environment, and "
            + "is the clock right?")
    case 429:
      list.warning(
        area, .dependency, "\(name): \(reason): too many provider tokens in a short time",
        hint: "check again in 20 minutes")
    case 500...599:
      list.problem(area, .dependency, "\(name): answers \(status) \(reason)")
    default:
      list.problem(
        area, .configuration, "\(name): answers \(status) \(reason), as Apple's service never does",
        key: "apns.\(environment.name).host")
    }
  }
}
