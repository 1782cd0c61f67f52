import FCMSimulator
import WebPushSimulator

/// Events for devices of Apple, of FCM and of browsers.
extension Scenario {
  static let platforms: [Scenario] = [
    Scenario(
      "mixed-platforms", "each device is asked once, at its own push service", on: .mixed(),
      actions: [.at(.seconds(10), .look("then", at: "worker-1"))],
      bounds: .onceEach + reached + [
        .exactly(.requests("e1", 0...1_000), 2_000), .exactly(.inVain, 0),
        .exactly(.counted("e1", field: "accepted"), 2_000), .exactly(.stats("accepted"), 2_000),
        .most(.lastPush("e1"), 4),
        .exactly(.measured("then", series: answers("apns", 200)), 800),
        .exactly(.measured("then", series: answers("fcm", 200)), 900),
        .exactly(.measured("then", series: answers("webpush", 200)), 300),
      ]),
    Scenario(
      "fcm-silent-30s", "pushes of the other platforms go on, and FCM's go afterwards",
      on: .mixed(),
      actions: [
        .at(.zero, .fcm { $0.mix = [.init(.silence, probability: 1)] }),
        .at(.seconds(30), .fcmIsWell),
      ],
      bounds: .onceEach + reached + [
        .exactly(.rejected("e1"), 0), .most(.lastPushOf(.apple, "e1"), 4),
        .most(.lastPushOf(.webpush, "e1"), 4), .most(.lastPushOf(.fcm, "e1"), 60),
        .most(.inVain, 50),
      ]),
    Scenario(
      "fcm-unreachable-20s", "nor do they wait for a server that nobody can connect to",
      on: .mixed(),
      actions: [
        .at(.zero, .wayToFCM { $0.isRefused = true }), .at(.zero, .cutFCM),
        .at(.seconds(20), .wayToFCM { $0.isRefused = false }),
      ],
      bounds: .onceEach + reached + [
        .exactly(.rejected("e1"), 0), .most(.lastPushOf(.apple, "e1"), 4),
        .most(.lastPushOf(.webpush, "e1"), 4), .most(.lastPushOf(.fcm, "e1"), 60),
      ]),
    Scenario(
      "fcm-quota", "who is over the project's quota waits for a minute, and costs nobody else time",
      on: .mixed(), actions: [.at(.zero, .fcm { $0.quotaPerMinute = 600 })],
      bounds: .onceEach + reached + [
        .exactly(.rejected("e1"), 0), .most(.lastPushOf(.apple, "e1"), 4),
        .most(.lastPushOf(.webpush, "e1"), 4), .within(.lastPushOf(.fcm, "e1"), 60...200),
        .within(.counted("e1", field: "retried"), 50...300),
      ]),
    Scenario(
      "fcm-retry-after", "a push that FCM refuses with Retry-After goes then, and not before",
      on: .mixed(),
      actions: [
        .at(
          .zero,
          .fcm {
            $0.rules = [
              .init(
                prefix: "device:", steps: [.init(.refuse(.quota(retryAfter: 20)), times: 1)])
            ]
          })
      ],
      bounds: .onceEach + reached + [
        .exactly(.rejected("e1"), 0), .exactly(.inVain, 900),
        .most(.lastPushOf(.apple, "e1"), 4), .within(.lastPushOf(.fcm, "e1"), 20...130),
      ]),
    Scenario(
      "fcm-access-token-expires", "a token that FCM refuses is replaced, and its pushes go again",
      on: .mixed(), events: [ScenarioEvent("e1", of: 1, at: .seconds(90))],
      actions: [
        .at(.milliseconds(90_500), .fcm { $0.expiredAccessTokens = [1] }),
        .at(.seconds(110), .look("then", at: "worker-1")),
      ],
      bounds: .onceEach + reached + [
        .exactly(.rejected("e1"), 0),
        .within(.measured("then", series: answers("fcm", 401, "UNAUTHENTICATED")), 1...40),
        .most(.lastPush("e1"), 12),
      ]),
    Scenario(
      "fcm-token-server-fails", "without an access token FCM's pushes wait, and no others",
      on: .mixed(),
      actions: [
        .at(
          .zero,
          .fcm {
            $0.expiredAccessTokens = [1]
            $0.tokenAnswers = [.init(.unavailable, times: 4)]
          })
      ],
      bounds: .onceEach + reached + [
        .exactly(.rejected("e1"), 0), .most(.lastPushOf(.apple, "e1"), 4),
        .most(.lastPushOf(.webpush, "e1"), 4), .most(.lastPushOf(.fcm, "e1"), 180),
      ]),
    Scenario(
      "push-service-refuses", "one push service that takes nothing stops no other", on: .mixed(),
      actions: [
        .at(.zero, .webpush { $0.rules = [.mozilla(.internal)] }),
        .at(.seconds(30), .webpushIsWell),
      ],
      bounds: .onceEach + reached + [
        .exactly(.rejected("e1"), 0), .most(.lastPushOf(.apple, "e1"), 4),
        .most(.lastPushOf(.fcm, "e1"), 4), .most(.lastPushOf(.webpush, "e1"), 60),
        .most(.inVain, 400),
      ]),
    Scenario(
      "push-service-unreachable", "nor does one that nobody can connect to", on: .mixed(),
      actions: [
        .at(.zero, .wayToBrowsers(service: 1) { $0.isRefused = true }),
        .at(.zero, .cutBrowsers(service: 1)),
        .at(.seconds(20), .wayToBrowsers(service: 1) { $0.isRefused = false }),
      ],
      bounds: .onceEach + reached + [
        .exactly(.rejected("e1"), 0), .most(.lastPushOf(.apple, "e1"), 4),
        .most(.lastPushOf(.fcm, "e1"), 4), .most(.lastPushOf(.webpush, "e1"), 60),
      ]),
    Scenario(
      "push-service-throttles", "Retry-After of a push service is waited for", on: .mixed(),
      actions: [
        .at(
          .zero,
          .webpush {
            $0.rules = [
              .init(
                prefix: "https://fcm.googleapis.com/",
                steps: [.init(WebPushAnswer(.tooMany), times: 1)])
            ]
          })
      ],
      bounds: .onceEach + reached + [
        .exactly(.rejected("e1"), 0), .within(.inVain, 90...110),
        .within(.lastPushOf(.webpush, "e1"), 30...90), .most(.lastPushOf(.fcm, "e1"), 4),
      ]),
    Scenario(
      "gone-on-each-platform", "a device that any platform calls gone is removed, and told once",
      on: .mixed { $0.audiences[0].marked = [.gone(every: 19)] },
      bounds: .onceEach + [
        .exactly(.rejected("e1"), 105), .exactly(.stats("pruned"), 105), .exactly(.news, 105),
        .exactly(.counted("e1", field: "rejected:Unregistered"), 42),
        .exactly(.counted("e1", field: "rejected:UNREGISTERED"), 48),
        .exactly(.counted("e1", field: "rejected:Gone"), 15), .exactly(.inVain, 0),
      ]),
    Scenario(
      "worker-dies-on-each-platform", "what a dead worker had begun is sent, on each platform",
      on: .mixed { $0.workers = 2 }, actions: [.at(.milliseconds(700), .kill("worker-1"))],
      bounds: .nobodyLost + reached + [
        .exactly(.rejected("e1"), 0), .most(.doubled, 200), .most(.lastPush("e1"), 60),
      ]),
  ]

  /// Of a worker's metrics, which call each answer 200 that accepts a push.
  private static func answers(_ platform: String, _ status: Int, _ reason: String = "") -> String {
    #"fanfare_push_requests_total{platform="\#(platform)",status="\#(status)",reason="\#(reason)"}"#
  }

  /// Of 2,000 devices.
  private static let reached: [ScenarioBound] = [
    .exactly(.reached(.apple), 800), .exactly(.reached(.fcm), 900),
    .exactly(.reached(.webpush), 300),
  ]
}

extension ScenarioSetUp {
  /// 2,000 followers with devices of Apple, of FCM and of browsers.
  fileprivate static func mixed(
    _ change: (inout ScenarioSetUp) -> Void = { _ in }
  ) -> ScenarioSetUp {
    usual {
      $0.audiences[0].platforms = .mixed
      change(&$0)
    }
  }
}

extension ScenarioAction.What {
  fileprivate static let fcmIsWell = Self.fcm { _ in }
  fileprivate static let webpushIsWell = Self.webpush { _ in }
}

extension FCMRefusal {
  /// Of the project, which may send again after so many seconds.
  fileprivate static func quota(retryAfter seconds: Int) -> FCMRefusal {
    guard var refusal = FCMFault.projectQuota.refusal else {
      preconditionFailure("FCM refuses who is over a quota")
    }
    refusal.retryAfter = .seconds(seconds)
    return refusal
  }
}

extension WebPushSimulatorScript.Rule {
  fileprivate static func mozilla(_ fault: WebPushFault) -> Self {
    .init(
      prefix: "https://updates.push.services.mozilla.com/", steps: [.init(WebPushAnswer(fault))])
  }
}
