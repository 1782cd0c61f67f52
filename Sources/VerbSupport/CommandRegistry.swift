import Assembly
import Devices
import Keyspace
import Redis
import Settings
import Terminal

/// A verb's requests about users, devices and follows.
package enum CommandRegistry {
  /// Lends a registry on the Redis that the settings name.
  package static func lend<T: Sendable>(
    _ settings: Settings,
    _ body: @Sendable (DeviceRegistry) async throws(DevicesError) -> T
  ) async throws(CommandFailure) -> T {
    let plainSet = plainSet(settings)
    return try await lendRedis(settings) {
      (redis, keyspace) async throws(DevicesError) -> T in
      try await body(DeviceRegistry(redis: redis, keyspace: keyspace, plainSet: plainSet))
    }
  }

  package static func lendRedis<T: Sendable>(
    _ settings: Settings,
    _ body: @Sendable (RedisClient, Keyspace) async throws(DevicesError) -> T
  ) async throws(CommandFailure) -> T {
    let keyspace = Assembly.keyspace(settings)
    return try await CommandRedis.lend(settings) { (_, redis) async throws(CommandFailure) -> T in
      do throws(DevicesError) {
        return try await body(redis, keyspace)
      } catch {
        throw CommandFailure(error)
      }
    }
  }

  package static func plainSet(_ settings: Settings) -> PlainSetPattern? {
    settings.audience.plainSetKey.map { PlainSetPattern($0) }
  }
}
