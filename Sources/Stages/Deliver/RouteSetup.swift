import EventLoop
import Model

/// What the parts of a route have in common: where it goes to and how, its lane's loop and its
/// chance.
final class RouteSetup {
  let environment: APNsEnvironment
  let target: APNsRoute
  let options: DeliverOptions
  let loop: EventLoop
  let chance: Chance

  init(
    environment: APNsEnvironment, target: APNsRoute, options: DeliverOptions, loop: EventLoop,
    chance: Chance
  ) {
    self.environment = environment
    self.target = target
    self.options = options
    self.loop = loop
    self.chance = chance
  }
}
