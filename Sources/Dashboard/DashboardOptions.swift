import Keyspace
import Redis

/// The options of a dashboard: its content, and how it reads. Nothing connects before `start`.
package struct DashboardOptions: Sendable {
  /// Of the process that serves it.
  package enum Mode: String, Sendable {
    /// `fanfare api`: whoever has the scope may also act.
    case api
    /// `fanfare dashboard`: Redis alone, and nothing is written.
    case dashboard
  }

  package var redis: RedisOptions
  package var keyspace: Keyspace
  package var mode: Mode
  package var version: String
  /// Whether requests for data need an API key.
  package var needsKey: Bool
  /// The templates as they are in this process' directory now; nil: it has none.
  package var templates: TemplateSamples?
  /// Advice about a reason for which pushes were rejected, in words.
  package var advice: @Sendable (_ reason: String, _ platform: String?) -> String
  /// Ms since 1970.
  package var wallClock: @Sendable () -> Int64
  /// A line of the log about Redis; no secrets in it.
  package var log: @Sendable (String) -> Void = { _ in }
  /// The time between two reads while somebody looks.
  package var refreshInterval: Duration = .seconds(1)

  package init(
    redis: RedisOptions, keyspace: Keyspace, mode: Mode, version: String, needsKey: Bool,
    templates: TemplateSamples? = nil,
    advice: @escaping @Sendable (String, String?) -> String = { _, _ in "" },
    wallClock: @escaping @Sendable () -> Int64
  ) {
    self.redis = redis
    self.keyspace = keyspace
    self.mode = mode
    self.version = version
    self.needsKey = needsKey
    self.templates = templates
    self.advice = advice
    self.wallClock = wallClock
  }
}

/// One template as readers would see it.
package struct TemplateSample: Sendable, Equatable {
  /// The text for the devices of one platform in one locale.
  package struct Text: Sendable, Equatable {
    package let locale: String
    package let platform: String
    /// The payload as JSON; nil where it fits into no limit.
    package let payload: String?
    /// Of at most `limit`.
    package let bytes: Int
    package let limit: Int

    package init(
      locale: String, platform: String, payload: String?, bytes: Int, limit: Int
    ) {
      self.locale = locale
      self.platform = platform
      self.payload = payload
      self.bytes = bytes
      self.limit = limit
    }
  }

  package let name: String
  package let texts: [Text]
  /// Why it cannot be used, or what it lacks; nil: nothing is wrong.
  package let trouble: String?
  /// The texts for the devices of the occasion's user, of each platform.
  package var rendered: [Text] = []

  package init(name: String, texts: [Text], trouble: String?) {
    self.name = name
    self.texts = texts
    self.trouble = trouble
  }
}

/// Makes samples of templates. Reads files, and may block for as long as these do.
package struct TemplateSamples: Sendable {
  /// The occasion that the samples are made for.
  package struct Occasion: Sendable {
    /// The event as it was received; nil: one that is made up.
    package var document: [UInt8]?
    /// Fields of the reader's profile; nil: somebody whom each locale fits.
    package var profile: [(name: String, value: String)]?
    /// One template alone; nil: all of them.
    package var template: String?

    package init() {}
  }

  package let make: @Sendable (Occasion) -> [TemplateSample]

  package init(_ make: @escaping @Sendable (Occasion) -> [TemplateSample]) { self.make = make }
}
