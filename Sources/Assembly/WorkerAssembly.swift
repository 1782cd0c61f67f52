import Deliver
import Model
import Pipeline
import Record
import Settings
import Spans
import Telemetry
import Threads
import Versions

extension Assembly {
  /// Everything a worker is made of. Functions that throw read files; nothing has connected.
  /// - Parameter version: what the worker says of itself in its heartbeat.
  package static func pipelineOptions(
    _ settings: Settings, version: String, log: Log
  ) throws(SettingsError) -> PipelineOptions {
    let files = try AppCredentialFiles(settings)
    let templates = try TemplateFiles(
      directory: settings.templates.directory, wallClock: { WallClock.nowMilliseconds() })
    let notices = DeliverLog(log, monotonic: { MonotonicClock.nowNanoseconds() })
    var options = PipelineOptions(
      workerID: settings.worker.id, version: version,
      lanes: lanes(settings),
      kafka: kafkaOptions(settings), ingest: ingestOptions(settings),
      redis: try redisOptions(settings), keyspace: keyspace(settings),
      expand: expandOptions(settings), record: RecordOptions(),
      deliver: try deliverOptions(settings, report: { notices.report($0) }),
      templates: templates.templates ?? [], credentials: files.credentials,
      log: log, randomNumber: { .random(in: .min ... .max) },
      processUsage: { ProcessUsage.own() }, processStartTime: ProcessUsage.ownStartTime)
    options.libraries = Dictionary(uniqueKeysWithValues: LibraryVersions.all.map { ($0, $1) })
    options.lookAtCredentials = { files.look() }
    options.credentialAges = { files.ages }
    options.credentialsExpireAt = { files.expiresAt }
    options.unfitCredentials = { files.unfitCount }
    options.lookAtTemplates = { templates.look(isSettled: $0) }
    options.templateInterval = settings.templates.reloadInterval
    options.templateReloads = { templates.figures }
    for warning in options.templates.flatMap(\.warnings) {
      log.warning("a template looks mistaken", ["place": .text(warning.description)])
    }
    for warning in TemplateFile.warnings(in: settings.templates.directory) {
      log.warning(
        "a file is no template",
        ["place": .text(warning.place ?? ""), "reason": .text(warning.message)])
    }
    options.expand.rules = try rules(settings)
    if let warning = ruleWarning(settings) {
      log.warning("quiet hours may be at the wrong time", ["reason": .text(warning)])
    }
    options.limits = laneLimits(settings)
    if let warning = memoryWarning(settings) {
      log.warning("memory may not suffice", ["reason": .text(warning)])
    }
    options.rates = pushRates(settings)
    options.outcomeShare = settings.outcomes.share
    options.spans = try spanOptions(settings, version: version, wallClock: options.wallClock)
    options.record.tellsTokens = options.ingest.tokensTopic != nil
    options.record.cooldown = settings.events.cooldown
    options.record.trace = OutcomeNotes.Level(rawValue: settings.events.trace.rawValue)
    options.record.traceMaximum = settings.events.traceMaximum
    options.record.removalShare = settings.devices.removalShare
    options.record.removalSamples = settings.devices.removalSamples
    options.record.removalWindow = settings.devices.removalWindow
    options.templateWait = settings.templates.unknownWait
    options.straggleAfter = settings.lanes.straggleAfter
    options.straggleDelay = settings.lanes.straggleDelay
    options.claimLifetime = settings.lanes.claimLifetime
    options.revokeTimeout = settings.lanes.revokeTimeout
    options.drainTimeout = settings.lanes.drainTimeout
    options.heartbeatInterval = settings.worker.heartbeatInterval
    options.probeBytes = probeBytes(settings)
    return options
  }

  /// The most that such a worker keeps in memory. Reads no file.
  package static func memoryBudget(
    _ settings: Settings, limits processLimits: ProcessLimits = .current
  ) -> MemoryBudget {
    MemoryBudget(
      lanes: lanes(settings, processLimits), limits: laneLimits(settings),
      ingest: ingestOptions(settings),
      expand: expandOptions(settings),
      connectionBytes: connectionBytes(settings), kafka: kafkaOptions(settings),
      probeBytes: probeBytes(settings),
      publishesOutcomes: settings.kafka.topics.outcomes != nil && settings.outcomes.share > 0,
      spanBytes: settings.traces.endpoint == nil ? 0 : SpanQueue.maximumBytes)
  }

  /// Push services that a lane has connections to at the same time. There are five of the browsers,
  /// one of them with a dozen hosts.
  private static let usualPushServices = 16

  /// Of one lane: to both of Apple's environments with each of the credentials, to FCM for each
  /// project, and to push services.
  private static func connectionBytes(_ settings: Settings) -> Int {
    let (apns, fcm) = (settings.apns, settings.fcm)
    let apple = DeliverOptions.maximumConnectionBytes(
      connections: apns.mostConnectionsPerLane, streams: apns.streamsPerConnection)
    let android = DeliverOptions.maximumConnectionBytes(
      connections: fcm.mostConnectionsPerLane, streams: fcm.streamsPerConnection)
    let webpush = settings.webpush
    let browsers = DeliverOptions.maximumConnectionBytes(
      connections: webpush.connectionsPerLane, streams: webpush.streamsPerConnection)
    return Destination.all(of: .apns).count * CredentialGroup.all(settings).count * apple
      + FCMGroup.all(fcm).count * android
      + (webpush.isConfigured ? usualPushServices * browsers : 0)
  }

  /// Connections to push services that such a worker may have at a time, under load. While servers
  /// end connections faster than they answer there may be more. Reads no file.
  package static func mostConnections(_ settings: Settings) -> Int {
    let (apns, fcm, webpush) = (settings.apns, settings.fcm, settings.webpush)
    let ofLane =
      Destination.all(of: .apns).count * CredentialGroup.all(settings).count
      * apns.mostConnectionsPerLane
      + FCMGroup.all(fcm).count * fcm.mostConnectionsPerLane
      + (webpush.isConfigured ? usualPushServices * webpush.connectionsPerLane : 0)
    return lanes(settings) * ofLane
  }

  /// The most that others send again when such a worker dies. Reads no file.
  package static func crashBound(_ settings: Settings) -> CrashBound {
    CrashBound(
      lanes: lanes(settings), limits: laneLimits(settings),
      claimLifetime: settings.lanes.claimLifetime)
  }

  /// `/metrics`, the largest answer, takes half of what is counted for one.
  private static func probeBytes(_ settings: Settings) -> Int {
    probeOptions(settings)?.maximumMemoryBytes(answerBytes: 64 << 10) ?? 0
  }

  /// How many a worker has.
  package static func lanes(_ settings: Settings, _ limits: ProcessLimits = .current) -> Int {
    settings.lanes.count == 0 ? limits.processors : settings.lanes.count
  }

  private static func pushRates(_ settings: Settings) -> PushRates {
    var rates = PushRates()
    rates.event = settings.limits.event == 0 ? nil : settings.limits.event
    // Validated: each is a whole number.
    rates.apps = settings.limits.apps.compactMapValues { Int($0) }
    return rates
  }

  private static func laneLimits(_ settings: Settings) -> LaneLimits {
    var limits = LaneLimits()
    limits.segments = settings.lanes.segmentsPerLane
    limits.bulk = settings.lanes.segmentsPerLane
    limits.batchBytes = settings.lanes.batchBytes
    return limits
  }
}

/// The files of all credentials that are configured: those of `apns.apps`, those of all other apps
/// at Apple, those of the projects of Firebase, and those for browsers.
package final class AppCredentialFiles: Sendable {
  private struct Source: Sendable {
    let platform: Platform
    /// Nil: of all apps.
    let owner: String?
    let look: @Sendable () -> CredentialChange?
    let isUnfit: @Sendable () -> Bool
    /// Seconds since 1970; nil for what does not end.
    let expiresAt: @Sendable () -> Int64?

    var name: String { owner.map { "\(platform.name) \($0)" } ?? platform.name }
  }

  private let sources: [Source]
  package let credentials: AppCredentials
  private let clock: @Sendable () -> Int64
  /// Since when each of `sources` is used.
  private let since: ThreadLock<[Int64]>

  /// - Parameter clock: ms since 1970.
  package init(
    _ settings: Settings, clock: @escaping @Sendable () -> Int64 = { WallClock.nowMilliseconds() }
  ) throws(SettingsError) {
    self.clock = clock
    let fcm = try FCMCredentialFiles.all(settings)
    let webpush = try WebPushKeyFiles(settings)
    let groups = CredentialGroup.all(settings)
    var all: [(name: String?, files: any CredentialFiles)] = []
    var places: [String: Int] = [:]
    for (place, group) in groups.enumerated() {
      for app in group.apps { places[app] = place }
      all.append((groups.count > 1 ? group.name : nil, try group.open(settings.apns)))
    }
    let apple = AppCredentials(
      all.map { AppCredentials.Item(name: $0.name, $0.files.credentials) }, apps: places,
      others: groups.firstIndex(where: \.isOfOthers))
    let phones = fcm.isEmpty ? apple : apple.adding(Self.android(fcm))
    credentials = webpush.map { phones.adding(AppCredentials($0.services)) } ?? phones
    let apns = all.map { name, files in
      Source(
        platform: .apns, owner: name, look: { files.look()?.of(name) },
        isUnfit: { files.isUnfit }, expiresAt: { files.expiresAt })
    }
    let firebase = fcm.map { files in
      Source(
        platform: .fcm, owner: files.name, look: { files.look() }, isUnfit: { files.isUnfit },
        expiresAt: { nil })
    }
    let browsers = webpush.map { files in
      Source(
        platform: .webpush, owner: nil, look: { files.look() }, isUnfit: { files.isUnfit },
        expiresAt: { nil })
    }
    sources = apns + firebase + [browsers].compactMap(\.self)
    since = ThreadLock(Array(repeating: clock(), count: sources.count))
  }

  private static func android(_ fcm: [FCMCredentialFiles]) -> AppCredentials {
    var places: [String: Int] = [:]
    for (place, files) in fcm.enumerated() {
      for app in files.group.apps { places[app] = place }
    }
    return AppCredentials(
      fcm.map { AppCredentials.Item(name: $0.name, $0.account) }, apps: places,
      others: fcm.firstIndex(where: \.group.isOfOthers))
  }

  /// Uses what is there now, if it can be used. Says each change once.
  package func look() -> [PlatformCredentialChange] {
    sources.enumerated().compactMap { index, source in
      guard let change = source.look() else { return nil }
      if case .replaced = change { since.withLock { $0[index] = clock() } }
      return PlatformCredentialChange(source.platform, change)
    }
  }

  /// Of all that are in use.
  package var ages: [CredentialAge] {
    zip(sources, since.withLock { $0 }).map { CredentialAge(name: $0.name, since: $1) }
  }

  /// Of those that cannot be used as they were found last.
  package var unfitCount: Int { sources.count { $0.isUnfit() } }

  /// Seconds since 1970, of those that end first; nil when none do.
  package var expiresAt: Int64? { sources.compactMap { $0.expiresAt() }.min() }
}
