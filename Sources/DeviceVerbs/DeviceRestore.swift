import Assembly
import Devices
import Ingest
import Kafka
import Model
import PushSupport
import Terminal
import VerbSupport

/// `device restore`: gives back what was quarantined after Apple's refusals, or pruned.
enum DeviceRestore {

  private static let user = Option<String?>(
    "user", .text, value: "ID",
    help: "Only devices of this user")
  private static let token = Option<String?>(
    "token", .text, value: "TOKEN", help: "Only this device; one of Apple's without --platform")
  private static let reason = Option<String?>(
    "reason", .text, help: "Only devices refused for this reason, such as BadDeviceToken")
  private static let topic = Option<String?>(
    "topic", .text, value: "TOPIC",
    help: "Only devices of this topic, which includes a push type's suffix")
  private static let platform = Option<PlatformChoice?>(
    "platform", .choice(), help: "Only devices of this push service")
  private static let environment = Option<EnvironmentChoice?>(
    "environment", .choice(), help: "Only devices of this environment")
  private static let since = Option<String?>(
    "since", .text, value: "TIME", help: "Only devices set aside at or after this time")
  private static let before = Option<String?>(
    "before", .text, value: "TIME", help: "Only devices set aside before this time")
  private static let prunedSince = Option<String?>(
    "pruned-since", .text, value: "WHEN",
    help: "Only devices that were removed after a 410 since then")
  private static let all = Option(flag: "all", help: "All devices that were set aside")
  private static let apply = Option(
    flag: "apply",
    help: "Restore the devices; otherwise they are only shown")

  static let verb = Verb(
    "restore", summary: "Restore devices that were set aside",
    discussion: """
      When Apple answers BadDeviceToken or DeviceTokenNotForTopic, the token is taken from its \
      user and set aside. If the cause was not the token but a wrong environment or bundle id in \
      the configuration, correct that first, and then restore the devices. Without --apply the \
      command only shows what it would do. A token that another user has bound since stays with \
      that user. Tokens of Android and of browsers are set aside and restored alike.

      A device that was removed after a 410 can be restored for 7 days. What was removed earlier \
      stays removed, whatever WHEN says. If Apple sent many wrong 410s, wait until it answers \
      normally again, and use --pruned-since. WHEN is a duration before now (2d, 36h), a day in \
      UTC (2026-11-21) or a TIME. Each device gets its old binding time back, so a device that is \
      really gone is removed again after its next push.

      TIME is like 2026-11-21T08:00:00Z, or milliseconds since 1970. With --since or --before, \
      devices without a recorded time are left out. Without --user, the command scans all keys of \
      the database (SCAN), which is harmless but takes time.
      """,
    options: [
      user, token, reason, topic, platform, environment, since, before, prunedSince, all, apply,
    ],
    examples: [
      .init(
        "fanfare device restore --all",
        "Show all devices that were set aside, by reason and app"),
      .init(
        "fanfare device restore --reason BadDeviceToken --topic com.example.live --apply",
        "Restore devices after you corrected the app's environment"),
      .init(
        "fanfare device restore --pruned-since 2d --topic com.example.live --apply",
        "Restore devices after Apple sent many wrong 410s"),
    ], exitCodes: [.ok, .failed, .unavailable, .retryLater, .config], handler: run)

  private static func run(_ invocation: Invocation) async throws(CommandFailure) -> ExitCode {
    let filter = try filter(invocation)
    if invocation[apply], filter.isEmpty, !invocation[all] {
      throw CommandFailure(.usage, "say which devices, or --all")
    }
    let settings = try invocation.loadSettings()
    let keyspace = Assembly.keyspace(settings)
    let news: RestoredNews?
    do {
      news = try settings.kafka.topics.tokens.map {
        try RestoredNews(
          Assembly.kafkaOptions(settings), topic: $0, now: { invocation.nowMilliseconds })
      }
    } catch {
      throw CommandFailure(.config, "\(error)")
    }
    let signals = StopSignals.catchAll()
    let counts = try await CommandRedis.lend(settings) {
      (_, redis) async throws(CommandFailure) -> RestorationCounts
      in
      var counts = RestorationCounts()
      var progress = ProgressLine(
        "looking", total: nil, on: invocation.errors, at: invocation.nowNanoseconds)
      defer { progress.finish(at: invocation.nowNanoseconds) }
      do throws(DevicesError) {
        counts.unreadable = try await DeviceRestoration(
          redis: redis, keyspace: keyspace, tell: news?.restoration
        ).run(filter, writes: invocation[apply]) { devices in
          counts.add(devices)
          progress.update(done: counts.restored, at: invocation.nowNanoseconds)
          return !signals.isRaised
        }
      } catch {
        throw CommandFailure(error)
      }
      counts.isInterrupted = signals.isRaised
      return counts
    }
    tell(counts, invocation)
    guard !counts.isInterrupted else {
      throw CommandFailure(.retryLater, "interrupted: run it again for the rest")
    }
    return .ok
  }

  private static func filter(
    _ invocation: Invocation
  ) throws(CommandFailure) -> QuarantineFilter {
    let given = QuarantineFilter.Given(
      user: invocation[user], token: invocation[token], reason: invocation[reason],
      topic: invocation[topic], platform: invocation[platform]?.model,
      environment: invocation[environment]?.rawValue,
      since: invocation[since], before: invocation[before], prunedSince: invocation[prunedSince])
    do {
      return try QuarantineFilter(given, now: invocation.nowMilliseconds)
    } catch {
      throw CommandFailure(.usage, "--\(error.name) must be \(error.rule)\(error.hint)")
    }
  }

  private static func tell(_ counts: RestorationCounts, _ invocation: Invocation) {
    let isDone = invocation[apply]
    guard invocation[DeviceVerb.json] else {
      var text = Summary()
      text.add(isDone ? "restored" : "would be restored", counts.restored)
      for (group, count) in counts.sortedGroups {
        text.add(
          "\(group.reason.isEmpty ? "no reason" : group.reason)", count,
          note: "\(group.topic), \(group.environment)", indent: 1)
      }
      if counts.takenByAnother > 0 {
        text.add("left", counts.takenByAnother, note: "another user has bound the token since")
      }
      if counts.changed > 0 {
        text.add("changed meanwhile", counts.changed, note: "run it again")
      }
      if counts.unreadable > 0 {
        text.add(
          "unreadable", counts.unreadable, note: "no devices, or keys of another type", mark: .bad)
      }
      text.write(to: invocation.output)
      if !isDone, counts.restored > 0 {
        invocation.errors.line("nothing was written; --apply does it")
      }
      return
    }
    let line: Terminal.JSONObject = [
      "applied": .bool(isDone), "restored": .integer(counts.restored),
      "taken_by_another": .integer(counts.takenByAnother), "changed": .integer(counts.changed),
      "unreadable": .integer(counts.unreadable),
      "groups": .array(
        counts.sortedGroups.map { group, count in
          .object([
            "reason": .text(group.reason), "topic": .text(group.topic),
            "environment": .text(group.environment), "count": .integer(count),
          ])
        }),
      "interrupted": .bool(counts.isInterrupted),
    ]
    invocation.output.line(JSONOutput.object(line).serialized())
  }
}

/// Tells whoever keeps devices too of those that are given back.
struct RestoredNews: Sendable {
  private let producer: KafkaProducer
  private let topic: String
  private let now: @Sendable () -> Int64

  /// Somebody waits for the command.
  private static let acknowledgedWithin: Duration = .seconds(10)

  init(
    _ kafka: KafkaOptions, topic: String, now: @escaping @Sendable () -> Int64
  ) throws(KafkaError) {
    self.now = now
    var options = kafka
    options.messageTimeout = Self.acknowledgedWithin
    producer = try KafkaProducer(options) { _ in }
    self.topic = topic
  }

  /// For whoever gives them back.
  var restoration: DeviceRestoration.Tell {
    { (devices) async throws(DevicesError) in try await tell(devices) }
  }

  /// Returns when every replica in sync has all of it.
  func tell(_ devices: [QuarantinedDevice]) async throws(DevicesError) {
    let at = now()
    for device in devices {
      let news = TokenNews(
        .restored, user: device.user, device.binding, reason: device.reason, at: at)
      let (key, value) = TokenNewsRecord.encode(news)
      do throws(KafkaError) {
        _ = try await producer.send(topic: topic, key: key, value: value, headers: [])
      } catch {
        throw DevicesError(
          .untold, "Kafka takes no news of devices that are given back, so none more is: \(error)")
      }
    }
  }
}
