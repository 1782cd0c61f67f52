import Assembly
import Deliver
import Model
import Settings
import Telemetry
import Terminal

/// Where a command asks Apple, and as whom.
package struct CommandApple: Sendable {
  package let settings: Settings

  package init(_ settings: Settings) { self.settings = settings }

  /// The `authorization` of a request: the provider token that the key's workers show as well, so
  /// that Apple sees no new one.
  package func authorization() throws(CommandFailure) -> String {
    let tokens: ProviderTokenSource
    do { tokens = try ProviderCredentials(settings).tokens } catch { throw CommandFailure(error) }
    do {
      let token = try tokens.token(now: WallClock.nowMilliseconds())
      return String(decoding: token.authorization.bytes, as: UTF8.self)
    } catch {
      throw CommandFailure(.config, error.description)
    }
  }

  /// Of pushes to devices.
  package func route(_ environment: APNsEnvironment) throws(CommandFailure) -> APNsRoute {
    let routes: [APNsEnvironment: APNsRoute]
    do { routes = try Assembly.deliverRoutes(settings) } catch { throw CommandFailure(error) }
    guard let route = routes[environment] else {
      throw CommandFailure(.config, "no server is configured for \(environment.name)")
    }
    return route
  }
}
