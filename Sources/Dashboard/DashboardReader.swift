import JSON
import Keyspace
import Record
import Redis
import Text

/// Reads what dashboards show, once for all who look. Confined to the loop of its client.
final class DashboardReader {
  /// Templates are files: they are read more seldom.
  private static let samplesInterval: Int64 = 5_000

  private let options: DashboardOptions
  private var questions: DashboardQuestions
  private let fanOuts: FanOutCache
  private let details: FanOutDetails
  private let health: HealthReader
  /// By the event; nil where Redis knows none such.
  private(set) var found: [ExactText: FanOutDetails.Detail?] = [:]
  /// Texts of the events that are watched, and when they were made.
  private var texts: [ExactText: [TemplateSample.Text]] = [:]
  private var samples: [TemplateSample]?
  private var samplesAt: Int64 = .min
  private var alerts: [Alert] = []
  private var shares = ObstacleShares()
  /// Since when something is wrong, by its name; of ours, and of obstacles.
  private var since: [ExactText: Int64] = [:]
  /// When Redis was read last, in ms since 1970; nil: never.
  private(set) var readAt: Int64?
  /// Why it could not be read the last time, in words.
  private(set) var trouble: String?

  init(_ redis: RedisClient, _ options: DashboardOptions) {
    self.options = options
    questions = DashboardQuestions(redis)
    fanOuts = FanOutCache(options.keyspace)
    details = FanOutDetails(options.keyspace)
    health = HealthReader(options.keyspace)
  }

  /// Commands that Redis was sent.
  var commandCount: Int { questions.count }

  // MARK: reading

  /// - Parameter events: whose details somebody wants.
  func refresh(events: [String]) async {
    let now = options.wallClock()
    do throws(RedisError) {
      try await health.refresh(&questions, now: now)
      try await fanOuts.refresh(&questions, now: now)
      let details = try await details.refresh(events, &questions, fanOuts, now: now)
      found = [:]
      for (event, detail) in zip(events, details) { found[ExactText(event)] = .some(detail) }
      trouble = nil
      readAt = now
    } catch {
      trouble =
        error.code == .notPermitted
        ? "Redis refuses us: \(error)" : "Redis does not answer: \(error)"
    }
    readTemplates(now: now)
    judge(now: now)
  }

  private func readTemplates(now: Int64) {
    guard let make = options.templates?.make else { return }
    let isOld = samplesAt == .min || now - samplesAt >= Self.samplesInterval || now < samplesAt
    if isOld {
      samples = make(TemplateSamples.Occasion())
      samplesAt = now
      texts = [:]
    }
    texts = texts.filter { found[$0.key] != nil }
    for (event, detail) in found where texts[event] == nil {
      guard let detail, let document = detail.document else { continue }
      var occasion = TemplateSamples.Occasion()
      occasion.document = document
      occasion.template = detail.status.template
      // None: this process has no such template, and need not look each second.
      texts[event] = make(occasion).first?.texts ?? []
    }
  }

  private func judge(now: Int64) {
    alerts = Alert.all(of: health.health, trouble: trouble, samples: samples, now: now)
    var names = alerts.map { ExactText($0.name) }
    for worker in health.health.workers {
      names += Alert.Obstacle.all(of: worker).map { ExactText("\(worker.id) \($0.name)") }
    }
    var next: [ExactText: Int64] = [:]
    for name in names { next[name] = since[name] ?? now }
    since = next
    guard trouble == nil else { return }
    let living = health.health.workers.filter { !$0.isSilent(at: now) }
    shares.add(living.map { ObstacleShares.classes(of: $0) }, at: now)
  }

  // MARK: views

  /// The members of a view but for its times. Nil for a fan-out that Redis does not know, or that
  /// was not read.
  func members(of view: DashboardView) -> [(String, JSONValue)]? {
    let now = options.wallClock()
    switch view {
    case .fanOuts(let limit): return list(limit, now: now)
    case .fanOut(let event):
      guard let known = found[event], let detail = known else { return nil }
      let row = FanOutView(
        event: event.text, status: detail.status, rate: detail.rate, limits: limits, now: now)
      return FanOutDetailView(
        row: row, detail: detail, texts: texts[event], advice: options.advice
      ).members
    case .health:
      return HealthView(
        health: health.health, alerts: alerts, shares: shares,
        since: { [since] in since[ExactText($0)] ?? now }, now: now
      ).members
    case .templates: return [("templates", TemplateView.json(samples))]
    }
  }

  private func list(_ limit: Int, now: Int64) -> [(String, JSONValue)] {
    let limits = limits
    let views = fanOuts.all.compactMap { known in
      known.status.map {
        FanOutView(
          event: known.event, title: known.title, status: $0, rate: known.rate, limits: limits,
          now: now)
      }
    }
    let oldest = views.filter(\.isUnsent).map { now - Int64($0.status.startedAt) }.max()
    let rows = FanOutView.ordered(views).prefix(limit)
    return [
      ("fanouts", .array(rows.map { .object(JSONObject($0.members)) })),
      ("oldest_unsent_ms", JSONValue(optional: oldest)),
      ("window", .string(FanOutCache.window)),
    ]
  }

  /// Limits of pushes a second that hold pushes up, as the workers say.
  private var limits: [String] {
    health.health.workers.flatMap { $0.texts("limits") }
  }
}

extension DashboardReader {
  /// Whether the last refresh has asked Redis for it.
  func isRead(_ view: DashboardView) -> Bool {
    if case .fanOut(let event) = view { found[event] != nil } else { readAt != nil }
  }
}
