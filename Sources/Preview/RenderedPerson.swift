import Keyspace
import Model
import Redis
import Rules
import Terminal
import VerbSupport

/// For whom a template is rendered: made up on the command line, or read from Redis.
package struct RenderedPerson: Sendable {
  package var fields: [String: String] = [:]
  /// Nil: nobody was read.
  package var devices: Devices?

  package struct Devices: Sendable {
    /// Of the push's topic, by environment: `production`, `sandbox`.
    package var addressed: [String: Int] = [:]
    /// Of other topics, of the same app too: they get nothing of this event.
    package var others = 0
    /// Members that the worker passes over, because they are no bindings.
    package var skipped = 0
    /// The rule that would keep the push from them now.
    package var suppressedBy: SuppressionRule?
  }

  package init() {}

  /// Throws `.usage` for what is no user's id; nothing is read of it.
  package static func check(user: String) throws(CommandFailure) {
    guard Keyspace.isIdentifier(user) else {
      throw CommandFailure(
        .usage, "--user must be 1…128 bytes of UTF-8 without control characters and braces")
    }
  }

  /// - Parameters:
  ///   - topic: the app's and the push type's: bindings of others get nothing.
  ///   - now: ms since 1970: when the push would be sent.
  package static func read(
    _ user: String, fields: [String], for event: Event, topic: String, rules: RecipientRules,
    now: Int64,
    _ redis: RedisClient, _ keyspace: Keyspace
  ) async throws(CommandFailure) -> RenderedPerson {
    let asked = rules.fields.map(\.rawValue) + fields
    let replies: RedisReplies
    do throws(RedisError) {
      replies = try await redis.execute(
        RedisPipeline(
          ["HMGET", keyspace.profile(user: user)] + asked,
          ["SMEMBERS", keyspace.bindings(user: user)]))
    } catch {
      throw CommandFailure(error)
    }
    if let error = replies.firstError {
      throw CommandFailure(.failed, "\(user) cannot be read: \(error.message)")
    }
    var person = Self.person(
      replies[0], fields, from: rules.fields.count, bindings: replies[1], topic: topic)
    let judge = RecipientJudge(rules, streamer: Array(event.streamer.utf8), now: now)
    var values = RuleValues()
    for (index, field) in rules.fields.enumerated() {
      if let bytes = replies[0][index].bytes { values[field] = bytes }
    }
    person.devices?.suppressedBy = judge.verdict(on: values).suppressedBy
    return person
  }

  private static func person(
    _ profile: RedisReply, _ names: [String], from first: Int, bindings: RedisReply, topic: String
  ) -> RenderedPerson {
    var person = RenderedPerson()
    var devices = Devices()
    for (index, name) in names.enumerated() { person.fields[name] = profile[first + index].text }
    for index in 0..<bindings.count {
      // The worker would send to it, whether it is written as we store it or not.
      guard let binding = Binding(foreign: bindings[index].text ?? "") else {
        devices.skipped += 1
        continue
      }
      if binding.topic == topic {
        devices.addressed[binding.destination.name, default: 0] += 1
      } else {
        devices.others += 1
      }
    }
    person.devices = devices
    return person
  }
}
