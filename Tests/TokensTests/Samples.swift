import Checkout
import Keyspace
import Model
import Redis
import Testing

let keyspace = Keyspace()

func binding(_ token: String) throws -> Binding {
  try #require(Binding(destination: .production, topic: "com.example.live", token: token))
}

/// `Config/redis/bind.lua`, as a backend sends it.
func bindScript() throws -> String {
  try Checkout.text("Config/redis/bind.lua")
}

extension RedisClient {
  /// The bindings of a user by their tokens, sorted.
  func tokens(_ user: String) async throws -> [String] {
    let reply = try await execute(RedisPipeline(["SMEMBERS", keyspace.bindings(user: user)]))[0]
    return (0..<reply.count).compactMap { reply[$0].text }.sorted()
      .map { String($0.split(separator: ":")[3]) }
  }
}
