/// The live backend's record "streamer X went live". Already validated; every text here is bounded
/// and free of control characters in the places that reach a header or a Redis key.
package struct Event: Sendable, Equatable {
  /// How far the live backend's clock may be ahead of ours.
  package static let clockSkew: Duration = .seconds(10 * 60)

  /// 1…64 bytes of `[A-Za-z0-9._:-]`; also the id of the fan-out. ASCII: it is compared as it is.
  package let id: String
  /// The app's bundle id: with the suffix of the template's push type it is the
  /// topic whose bindings are addressed.
  package let app: String
  package let streamer: String
  package let stream: String
  /// The template's name, 1…64 bytes of `[a-z0-9-]`.
  package let template: String
  /// Milliseconds since 1970.
  package let occurredAt: Int64
  /// Milliseconds since 1970; nothing of this fan-out is sent at or after it. Of an event for a
  /// local hour, which has several waves, that of the last; of one of its segments the wave's own.
  package let expiresAt: Int64
  /// Nil: as soon as it is read.
  package let sendAt: SendTime?
  package let audience: EventAudience
  /// Pushes of it in a second, of all workers together; nil: it asks for no limit.
  package let pushesPerSecond: Int?
  /// Every value that a template may name, by its dotted path: `streamer.name`, `stream.title`, …
  package let fields: [String: String]
  /// The record's own bytes: a segment carries them on, so that a worker decodes what was
  /// validated. Of an event that came in a segment: the same document, written without white space.
  package let document: [UInt8]
  /// The trace that it is part of; nil: of none. It travels beside the document, in headers.
  package let trace: TraceContext?
  /// When its record was written to Kafka, in ms since 1970; 0: nobody knows.
  package let appendedAt: Int64

  package init(
    id: String, app: String, streamer: String, stream: String, template: String, occurredAt: Int64,
    expiresAt: Int64, sendAt: SendTime? = nil, audience: EventAudience = .followers,
    pushesPerSecond: Int? = nil, fields: [String: String], document: [UInt8],
    trace: TraceContext? = nil, appendedAt: Int64 = 0
  ) {
    self.id = id
    self.app = app
    self.streamer = streamer
    self.stream = stream
    self.template = template
    self.occurredAt = occurredAt
    self.expiresAt = expiresAt
    self.sendAt = sendAt
    self.audience = audience
    self.pushesPerSecond = pushesPerSecond
    self.fields = fields
    self.document = document
    self.trace = trace
    self.appendedAt = appendedAt
  }

  package func isExpired(at milliseconds: Int64) -> Bool { milliseconds >= expiresAt }

  /// How many times its audience is gone through: once, or for each wave of a local hour.
  package var waveCount: Int { if case .local = sendAt { LocalWaves.count } else { 1 } }

  /// When a wave of it may begin, in ms since 1970; nil: as soon as it is read.
  package func due(ofWave wave: Int) -> Int64? {
    switch sendAt {
    case .at(let moment): moment
    case .local(let local): LocalWaves.due(wave, local: local)
    case nil: nil
    }
  }

  /// When the first wave after a moment is due; both in ms since 1970. Nil: no wave follows.
  package func nextWave(after moment: Int64) -> Int64? {
    guard waveCount > 1 else { return nil }
    return (0..<waveCount).lazy.compactMap { due(ofWave: $0) }.first { $0 > moment }
  }

  /// The same with the expiry of one of its waves.
  package func inWave(_ wave: Int) -> Event {
    guard let sendAt, let due = due(ofWave: wave) else { return self }
    return Event(
      id: id, app: app, streamer: streamer, stream: stream, template: template,
      occurredAt: occurredAt, expiresAt: expiresAt - sendAt.due.upperBound + due, sendAt: sendAt,
      audience: audience, pushesPerSecond: pushesPerSecond, fields: fields, document: document,
      trace: trace, appendedAt: appendedAt)
  }

  /// The same event as a preview shows it: to anybody and at once, under another template or with
  /// other values.
  package func shown(as template: String? = nil, with fields: [String: String]? = nil) -> Event {
    Event(
      id: id, app: app, streamer: streamer, stream: stream, template: template ?? self.template,
      occurredAt: occurredAt, expiresAt: expiresAt, fields: fields ?? self.fields,
      document: document)
  }

  /// Its expression names the streamer's followers, who may be in a plain set of any size.
  var readsFollowersAmongOthers: Bool {
    guard case .matching(let expression) = audience else { return false }
    return expression.lists.contains(.followers)
  }
}

/// Whom an event addresses.
package enum EventAudience: Sendable, Equatable {
  /// The streamer's followers, as when an event says nothing else.
  case followers
  /// These users, whoever they follow; each once.
  case users([String])
  /// The users for whom an expression holds.
  case matching(AudienceExpression)

  /// Users that an event may name.
  package static let maximumUsers = 1_000
}

/// The live backend's record that a stream is over: its fan-outs stop.
package struct StreamEnd: Sendable, Equatable {
  package let streamer: String
  package let stream: String
  /// Milliseconds since 1970. A stream that went live after it is another broadcast.
  package let occurredAt: Int64

  package init(streamer: String, stream: String, occurredAt: Int64) {
    self.streamer = streamer
    self.stream = stream
    self.occurredAt = occurredAt
  }
}
