import FCMSimulator
import SimulatorSupport
import WebPushSimulator

/// FCM and the push services of browsers in a life.
extension LifeRun {
  /// How they are when nothing is wrong.
  func startServices() {
    guard world.fcm != nil else { return }
    for endpoint in [WorldFCM.endpoint] + WorldWebPush.endpoints {
      world.network.change(endpoint) { $0.delay = usualWay }
    }
    fcmScript.latency = plan.appleThinks
    fcmScript.jitter = plan.appleThinks / 2
    fcmScript.streams = plan.streams
    webpushScript.latency = plan.appleThinks
    webpushScript.jitter = plan.appleThinks / 2
    webpushScript.streams = plan.streams
  }

  /// Lets them follow their scripts from now on.
  func replaceServiceScripts() {
    let (fcm, webpush) = (fcmScript, webpushScript)
    world.begin { _, world in
      await world.fcm?.simulator.replaceScript(fcm)
      await world.webpush?.simulator.replaceScript(webpush)
    }
  }

  func begin(_ fault: ServiceFault, on service: LifeService, for duration: Duration) {
    let endpoint =
      switch service {
      case .fcm: WorldFCM.endpoint
      case .browsers(let index): WorldWebPush.endpoints[index]
      }
    guard !changeWay(to: endpoint, fault, for: duration) else { return }
    change(fault, on: service, begins: true)
    later(duration) { [self] in
      change(fault, on: service, begins: false)
      replaceServiceScripts()
    }
    replaceServiceScripts()
  }

  private func change(_ fault: ServiceFault, on service: LifeService, begins: Bool) {
    switch service {
    case .fcm: apply(fault, to: &fcmScript, begins: begins)
    case .browsers: apply(fault, to: &webpushScript, begins: begins)
    }
  }

  private func apply(_ fault: ServiceFault, to script: inout FCMSimulatorScript, begins: Bool) {
    switch fault {
    case .mix(let text): script.mix = begins ? Self.shares(text) : []
    case .goAway(let after, let behind):
      script.goAwayAfter = begins ? after : nil
      script.goAwayBehind = behind
    case .streams(let limit): script.streams = begins ? limit : plan.streams
    case .dropAfter(let requests): script.dropAfter = begins ? requests : nil
    case .latency(let latency):
      script.latency = begins ? latency : plan.appleThinks
      script.jitter = script.latency / 2
    case .quota(let messages): script.quotaPerMinute = begins ? messages : nil
    // Those of all workers so far, of which each has asked for a few.
    case .tokensExpire: script.expiredAccessTokens = begins ? Set(1...8) : []
    case .noTokens(let answers):
      script.tokenAnswers = begins ? [.init(.unavailable, times: answers)] : []
    default: break
    }
  }

  private func apply(
    _ fault: ServiceFault, to script: inout WebPushSimulatorScript, begins: Bool
  ) {
    switch fault {
    case .mix(let text): script.mix = begins ? Self.shares(text) : []
    case .goAway(let after, let behind):
      script.connections.goAwayAfter = begins ? after : nil
      script.connections.goAwayBehind = behind
    case .streams(let limit): script.streams = begins ? limit : plan.streams
    case .dropAfter(let requests): script.connections.dropAfter = begins ? requests : nil
    case .latency(let latency):
      script.latency = begins ? latency : plan.appleThinks
      script.jitter = script.latency / 2
    default: break
    }
  }

  /// `internal=0.2,bad_gateway=0.1`
  private static func shares<Fault: RawRepresentable<String> & Sendable & Equatable>(
    _ text: String
  ) -> [ScriptShare<Fault>] {
    text.split(separator: ",").map { part in
      let sides = part.split(separator: "=")
      guard sides.count == 2, let fault = Fault(rawValue: String(sides[0])),
        let probability = Double(sides[1])
      else { preconditionFailure("\(text) is no mix") }
      return ScriptShare(fault, probability: probability)
    }
  }

  // MARK: devices

  /// Of a hundred devices 40 are Apple's, 45 FCM's and 15 browsers. It follows from the number
  /// alone, since lives share audiences.
  func platform(of number: Int) -> WorldPlatform {
    guard plan.hasAllPlatforms else { return .apple }
    var mixed = UInt64(number) &* 0x9E37_79B9_7F4A_7C15
    mixed ^= mixed >> 29
    switch mixed % 100 {
    case ..<40: return .apple
    case ..<85: return .fcm
    default: return .webpush
    }
  }

  /// A device like any other.
  func newDevice(_ number: Int) -> WorldDevice {
    device(number, WorldDevice(number), fcm: nil, webpush: nil)
  }

  /// - Parameters:
  ///   - apple: the device if it is one of Apple's.
  ///   - fcm: what FCM says if it is one of FCM's, and on how many tries; 0: on each.
  ///   - webpush: the same of a browser.
  func device(
    _ number: Int, _ apple: WorldDevice, fcm: (name: FCMFault, tries: Int)?,
    webpush: (name: WebPushFault, tries: Int)?
  ) -> WorldDevice {
    switch platform(of: number) {
    case .apple: return apple
    case .fcm: return WorldFCMToken.device(number, fault: fcm)
    case .webpush:
      guard let services = world.webpush else { preconditionFailure("the world has no browsers") }
      return WorldDevice(number, services.binding(number, fault: webpush))
    }
  }
}
