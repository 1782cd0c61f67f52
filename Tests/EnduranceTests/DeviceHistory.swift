import Devices
import Keyspace
import Model
import Redis
import TestBed

/// One of several clients that bind, unbind, replace, follow and unfollow at random, and what of it
/// was so when. It alone changes its users and tokens, so that what it remembers is what happened.
struct DeviceHistory: Sendable {
  /// From before a call that makes it so until behind one that ends it: it may have been so.
  struct Span: Sendable {
    let user: String
    let from: ContinuousClock.Instant
    /// Behind the call that made it so.
    let certainFrom: ContinuousClock.Instant
    /// Before the call that ends it, and behind it; nil while it is so.
    var certainTo: ContinuousClock.Instant?
    var to: ContinuousClock.Instant?
  }

  let users: [String]
  let tokens: [String]
  /// Who had a token.
  private(set) var bindings: [String: [Span]] = [:]
  /// Who followed a streamer.
  private(set) var follows: [String: [String: [Span]]] = [:]

  init(client: Int) {
    users = (0..<50).map { "c\(client)-u\($0)" }
    tokens = (0..<100).map { paddedHex((client + 1) << 16 | $0) }
  }

  mutating func step(_ redis: RedisClient, streamers: [String]) async throws {
    let registry = DeviceRegistry(redis: redis, keyspace: Keyspace())
    guard let user = users.randomElement(), let token = tokens.randomElement(),
      let other = tokens.randomElement(), let streamer = streamers.randomElement()
    else { return }
    let before = ContinuousClock.now
    switch Int.random(in: 0..<20) {
    case 0..<7:
      try await registry.bind(user: user, binding(token), at: 1)
      bound(token, to: user, before)
    case 7..<10:
      guard let owner = owner(of: token) else { return }
      try await registry.unbind(user: owner, binding(token))
      ended(&bindings[token, default: []], before)
    case 10..<14:
      guard let owner = owner(of: token), other != token else { return }
      try await registry.replace(user: owner, binding(token), with: binding(other), at: 1)
      ended(&bindings[token, default: []], before)
      bound(other, to: owner, before)
    case 14..<18:
      if try await registry.follow(streamer: streamer, user: user) {
        follows[streamer, default: [:]][user, default: []].append(
          Span(user: user, from: before, certainFrom: .now))
      }
    default:
      if try await registry.unfollow(streamer: streamer, user: user) {
        ended(&follows[streamer, default: [:]][user, default: []], before)
      }
    }
  }

  func owner(of token: String) -> String? {
    bindings[token]?.last.flatMap { $0.to == nil ? $0.user : nil }
  }

  /// Whether a push of an event of the streamer may have come to the token in this time.
  func mayReach(_ token: String, _ streamer: String, _ time: ClosedRange<ContinuousClock.Instant>)
    -> Bool
  {
    (bindings[token] ?? []).contains { span in
      Self.touches(span, time)
        && (follows[streamer]?[span.user] ?? []).contains { Self.touches($0, time) }
    }
  }

  /// Whether a push of it must have come.
  func mustReach(_ token: String, _ streamer: String, _ time: ClosedRange<ContinuousClock.Instant>)
    -> Bool
  {
    (bindings[token] ?? []).contains { span in
      Self.covers(span, time)
        && (follows[streamer]?[span.user] ?? []).contains { Self.covers($0, time) }
    }
  }

  private mutating func bound(
    _ token: String, to user: String, _ before: ContinuousClock.Instant
  ) {
    if owner(of: token) == user { return }
    ended(&bindings[token, default: []], before)
    bindings[token, default: []].append(Span(user: user, from: before, certainFrom: .now))
  }

  private func ended(_ spans: inout [Span], _ before: ContinuousClock.Instant) {
    guard let last = spans.indices.last, spans[last].to == nil else { return }
    spans[last].certainTo = before
    spans[last].to = .now
  }

  private func binding(_ token: String) -> Binding {
    guard let made = Binding(destination: .production, topic: WorkerBed.app, token: token) else {
      preconditionFailure("\(token) is a token")
    }
    return made
  }

  private static func touches(_ span: Span, _ time: ClosedRange<ContinuousClock.Instant>) -> Bool {
    span.from <= time.upperBound && span.to.map { $0 >= time.lowerBound } ?? true
  }

  private static func covers(_ span: Span, _ time: ClosedRange<ContinuousClock.Instant>) -> Bool {
    span.certainFrom <= time.lowerBound && span.certainTo.map { $0 >= time.upperBound } ?? true
  }
}
