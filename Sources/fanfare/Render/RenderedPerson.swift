import EventLoop
import Keyspace
import Redis
import Settings

/// For whom a template is rendered: made up on the command line, or read from Redis.
struct RenderedPerson: Sendable {
  var fields: [String: String] = [:]
  /// Nil: nobody was read.
  var devices: Devices?

  struct Devices: Sendable {
    /// Of the event's app, by environment: `production`, `sandbox`.
    var addressed: [String: Int] = [:]
    /// Of other apps: they get nothing of this event.
    var others = 0
    var isMuted = false
  }

  static func read(
    _ user: String, fields: [String], app: String, _ settings: Settings
  ) async throws(CommandFailure) -> RenderedPerson {
    guard Keyspace.isIdentifier(user) else {
      throw CommandFailure(
        .usage, "--user must be 1…128 bytes of UTF-8 without control characters and braces")
    }
    let keyspace = Assembly.keyspace(settings)
    return try await CommandLoop.withRedis(settings) {
      (_: isolated LoopActor, redis: RedisClient) async throws(CommandFailure) -> RenderedPerson in
      let replies: RedisReplies
      do throws(RedisError) {
        replies = try await redis.execute(
          RedisPipeline(
            ["HMGET", keyspace.profile(user: user), "muted"] + fields,
            ["SMEMBERS", keyspace.bindings(user: user)]))
      } catch {
        throw CommandFailure(error)
      }
      if let error = replies.firstError {
        throw CommandFailure(.failed, "\(user) cannot be read: \(error.message)")
      }
      return person(replies[0], fields, bindings: replies[1], app: app)
    }
  }

  private static func person(
    _ profile: RedisReply, _ names: [String], bindings: RedisReply, app: String
  ) -> RenderedPerson {
    var person = RenderedPerson()
    var devices = Devices()
    devices.isMuted = profile[0].text == "1"
    for (index, name) in names.enumerated() { person.fields[name] = profile[index + 1].text }
    for index in 0..<bindings.count {
      // apns:<environment>:<topic>:<token>
      let parts = (bindings[index].text ?? "").split(separator: ":")
      if parts.count == 4, parts[2] == app {
        devices.addressed[String(parts[1]), default: 0] += 1
      } else {
        devices.others += 1
      }
    }
    person.devices = devices
    return person
  }
}
