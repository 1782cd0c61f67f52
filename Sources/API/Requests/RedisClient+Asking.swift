import Redis

extension RedisClient {
  /// The replies to a few commands; what Redis refuses of any of them is a problem of the request.
  func ask(_ commands: [String]...) async throws(Problem) -> RedisReplies {
    let pipeline = RedisPipeline()
    for command in commands { pipeline.append(command) }
    do throws(RedisError) {
      let replies = try await execute(pipeline)
      if let error = replies.firstError { throw RedisError(error, quotes: false) }
      return replies
    } catch {
      throw Problem(error)
    }
  }
}

extension RedisClient {
  /// Why Redis does not answer, in words; nil: it does.
  var trouble: String? {
    get async {
      // The first look-up of its name may take longer than a probe waits.
      if let obstacle { return "\(obstacle)" }
      let pong = try? await execute(RedisPipeline(["PING"]), timeout: .seconds(1))
      return pong == nil ? "it does not answer" : nil
    }
  }
}
