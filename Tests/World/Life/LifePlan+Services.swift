import Text

/// What goes wrong with FCM and with the push services of browsers in a life with all platforms. A
/// stream of chance of its own draws it, so that the rest of the life stays as it is without it.
extension LifePlan {
  mutating func drawServices() {
    draw(from: SplitMix64(seed: seed ^ 0x5345_5256_4943_4553)) { plan in
      for _ in 0..<plan.number(5...9) {
        let at = plan.timeOfFault()
        let duration: Duration = .milliseconds(
          plan.chance(75) ? plan.number(100...4_000) : plan.number(4_000...20_000))
        let service: LifeService =
          plan.chance(60) ? .fcm : .browsers(plan.number(0...WorldWebPush.hosts.count - 1))
        let fault = plan.drawFault(of: service)
        // Each byte for itself costs the world's own time.
        let isCostly = if case .pieces(...9) = fault { true } else { false }
        plan.add(
          .service(service, fault, isCostly ? min(duration, .milliseconds(400)) : duration), at: at)
      }
    }
  }

  private mutating func drawFault(of service: LifeService) -> ServiceFault {
    let isFCM = if case .fcm = service { true } else { false }
    switch number(1...(isFCM ? 14 : 11)) {
    case 1: return .refused
    case 2: return .silent
    case 3: return .cut
    case 4: return .slow(.milliseconds(number(5...800)))
    case 5: return .pieces([1, 9, 100, 700][number(0...3)])
    case 6: return .goAway(after: number(1...100), behind: number(0...10))
    case 7: return .streams([0, 1, 2, 10, 100][number(0...4)])
    case 8: return .dropAfter(number(1...100))
    case 9: return .latency(.milliseconds(number(10...1_500)))
    case 12: return .quota(number(1...60))
    case 13: return .tokensExpire
    case 14: return .noTokens(number(1...4))
    default:
      let mixes = isFCM ? Self.fcmMixes : Self.browserMixes
      return .mix(mixes[number(0...mixes.count - 1)])
    }
  }

  /// Names of `FCMFault`.
  private static let fcmMixes = [
    "device_quota=0.2", "project_quota=0.2", "unavailable=0.3", "internal=0.2,bad_gateway=0.1",
    "unavailable_seconds=0.4", "empty_internal=0.3", "reset=0.1", "refused_stream=0.2",
    "silence=0.02", "drop=0.005", "unregistered=0.5", "bad_token=0.5", "sender_id_mismatch=0.3",
    "forbidden=1", "expired_bearer=0.3",
  ]

  /// Names of `WebPushFault`.
  private static let browserMixes = [
    "too_many=0.3", "unavailable=0.3", "internal=0.3,bad_gateway=0.1", "slow=0.3", "reset=0.1",
    "refused_stream=0.2", "goaway=0.05", "silence=0.02", "drop=0.005", "gone=0.5",
    "not_found=0.3", "bad_key=1",
  ]
}
