import APNs
import Assembly
import Deliver
import Model
import Settings
import Terminal
import Transport
import VerbSupport

/// Where a command asks Apple, and as whom.
package struct CommandApple: Sendable {
  package enum Service: Sendable {
    case pushes, broadcasts
    /// Where channels are managed.
    case channels
  }

  package let settings: Settings

  package init(_ settings: Settings) { self.settings = settings }

  /// A route as requests go there, and their `authorization`: the provider token that the key's
  /// workers show as well, so that Apple sees no new one; nil with a certificate, which the
  /// connection shows.
  /// - Parameter app: whose credentials are meant: a bundle id, or a topic.
  /// - Parameter now: ms since 1970.
  package func authorizing(
    _ route: RouteTarget, of app: String, now: Int64
  ) throws(CommandFailure) -> (route: RouteTarget, authorization: String?) {
    let found: APNsCredentials?
    do {
      found =
        try AppCredentialFiles(settings).credentials.account(
          of: app, on: Platform.apns.name) as? APNsCredentials
    } catch {
      throw CommandFailure(error)
    }
    guard let credentials = found else {
      throw CommandFailure(
        .config,
        "there are no credentials for \(app): it is not in apns.apps, and apns.key_file and "
          + "apns.certificate_file are not set")
    }
    do {
      return try credentials.authorizing(route, now: now)
    } catch {
      throw CommandFailure(.config, error.description)
    }
  }

  /// All services are trusted as that of pushes is.
  package func route(
    _ environment: Destination, _ service: Service = .pushes
  ) throws(CommandFailure) -> RouteTarget {
    var settings = settings
    if service != .pushes {
      // Broadcasts are younger than the legacy interface, and channels have servers of their own.
      settings.apns.production.interface = .http2
      settings.apns.sandbox.interface = .http2
    }
    let routes: [Destination: RouteTarget]
    do { routes = try Assembly.deliverRoutes(settings) } catch { throw CommandFailure(error) }
    guard var route = routes[environment] else {
      throw CommandFailure(.config, "no server is configured for \(environment.name)")
    }
    guard route.interface == nil else {
      throw CommandFailure(
        .config,
        "apns.\(environment.name).interface is binary, which answers nothing: a push by hand needs "
          + "HTTP/2 (docs/legacy.md)")
    }
    let server = environment == .production ? settings.apns.production : settings.apns.sandbox
    switch service {
    case .pushes: break
    case .broadcasts: route.endpoint = Self.endpoint(server.broadcast)
    case .channels: route.endpoint = Self.endpoint(server.channels)
    }
    return route
  }

  /// To a feedback service of the legacy binary interface, which is shown the certificate, if there
  /// is one.
  /// - Parameter now: ms since 1970.
  package func feedbackRoute(
    host: String, port: Int, now: Int64
  ) throws(CommandFailure) -> RouteTarget {
    let route: RouteTarget
    do {
      route = try Assembly.feedbackRoute(settings, host: host, port: port)
    } catch {
      throw CommandFailure(error)
    }
    // A key has no place in it.
    return settings.apns.certificateFile == nil
      ? route : try authorizing(route, of: "", now: now).route
  }

  private static func endpoint(_ address: Settings.APNs.Address) -> Endpoint {
    Endpoint(host: address.host, port: address.port)
  }
}

/// One of Apple's services, as a flag names it.
package enum EnvironmentChoice: String, CaseIterable, Sendable {
  case production, sandbox

  package var model: Destination { self == .production ? .production : .sandbox }
}
