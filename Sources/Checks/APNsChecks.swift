import Assembly
import Deliver
import EventLoop
import JSON
import Model
import Settings
import Telemetry
import Transport

/// Whether Apple's servers, or what stands for them, can be reached and take our provider token.
enum APNsChecks {
  private static let area = "apns"

  static func run(
    _ settings: Settings, _ tokens: ProviderTokenSource?, timeout: Duration, deniesWarnings: Bool
  ) async -> CheckList {
    var list = CheckList(deniesWarnings: deniesWarnings)
    let routes: [APNsEnvironment: APNsRoute]
    do {
      routes = try Assembly.deliverRoutes(settings)
    } catch {
      list.add(area, error)
      return list
    }
    let authorization = try? tokens?.token(now: WallClock.nowMilliseconds()).authorization
    let token = authorization.map { String(decoding: $0.bytes, as: UTF8.self) }
    let limit = min(timeout, settings.apns.connectTimeout + settings.apns.requestTimeout)
    var asked: [Endpoint] = []
    for environment in APNsEnvironment.allCases {
      guard let route = routes[environment] else { continue }
      // A simulator stands for both.
      if asked.contains(route.endpoint) { continue }
      asked.append(route.endpoint)
      let answer = await EventLoop.temporary("command") {
        (_: isolated LoopActor, loop: EventLoop) async in
        await APNsProbe(route, authorization: token, loop: loop).run(timeout: limit)
      }
      tell(answer, environment, route.endpoint, &list)
    }
    return list
  }

  private static func tell(
    _ answer: APNsProbe.Answer, _ environment: APNsEnvironment, _ endpoint: Endpoint,
    _ list: inout CheckList
  ) {
    let name = "\(environment.name), \(endpoint)"
    if let milliseconds = answer.connectMilliseconds {
      list.ok(area, "\(name): TLS and HTTP/2 in \(milliseconds) ms")
    }
    if let failure = answer.failure {
      list.problem(
        // What the transport says names the server already.
        area, .dependency, "\(answer.code == nil ? name : environment.name): \(failure)",
        hint: hint(answer.code))
      return
    }
    guard let status = answer.status else {
      list.skipped(area, "\(name): without a provider token nothing was asked")
      return
    }
    judge(status, reason(answer.body), name, environment, &list)
  }

  /// 400 speaks of the device that cannot exist: the provider token was taken.
  private static func judge(
    _ status: Int, _ reason: String, _ name: String, _ environment: APNsEnvironment,
    _ list: inout CheckList
  ) {
    switch status {
    case 400, 410: list.ok(area, "\(name): takes the provider token")
    case 403:
      list.problem(
        area, .configuration, "\(name): refuses the provider token: \(reason)",
        key: "apns.key_file",
        hint: "do apns.key_id and apns.team_id belong to this key, is it for this environment, and "
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

  private static func reason(_ body: [UInt8]) -> String {
    (try? JSONValue.parse(body))?.object?["reason"]?.string ?? "without a reason"
  }

  private static func hint(_ code: TransportError.Code?) -> String? {
    switch code {
    case .unresolved: "is the host's name right, and does DNS work here?"
    case .unreachable, .timeout: "is the way to this port open? Port 2197 may be where 443 is not"
    case .tls: "apns.ca_file names what is trusted instead of the system's authorities"
    default: nil
    }
  }
}
