import CHiredis
import Glibc

/// One command over a connection of its own, which blocks its thread, and what `redis-cli` would
/// print for it. For local servers of the demo, the benchmarks and tests, which ask thousands of
/// times: a process for each costs them forty times as much as the answer. Workers never wait so.
package enum RedisCommandLine {
  private static let host = "127.0.0.1"
  /// A server that is frozen is waited for that long; redis-cli would wait for ever.
  private static let answerLimit = timeval(tv_sec: 120, tv_usec: 0)

  /// Strings as they are, integers in digits, one line for each member of an array, nothing for
  /// null, an error's own words. An argument ends where it has a NUL byte, as a process's do.
  ///
  /// - Throws: no connection, or it broke before the answer.
  package static func run(_ command: [String], port: Int) throws(RedisError) -> String {
    let reply = try answer(to: command, port: port)
    defer { freeReplyObject(reply) }
    return shown(reply.pointee)
  }

  private static func answer(
    to command: [String], port: Int
  ) throws(RedisError) -> UnsafeMutablePointer<redisReply> {
    guard let context = redisConnectWithTimeout(host, Int32(port), answerLimit) else {
      throw RedisError(.unavailable, "no memory for a connection")
    }
    defer { redisFree(context) }
    guard context.pointee.err == 0, redisSetTimeout(context, answerLimit) == REDIS_OK else {
      throw RedisError(.unavailable, "no connection to port \(port)")
    }
    guard let reply = call(command, context) else {
      throw RedisError(.connectionLost, "no answer from port \(port)")
    }
    return reply
  }

  /// nil: the connection broke, or two minutes went by.
  private static func call(
    _ command: [String], _ context: UnsafeMutablePointer<redisContext>
  ) -> UnsafeMutablePointer<redisReply>? {
    let copies = command.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    var arguments = copies.map { UnsafePointer<CChar>($0) }
    var lengths = copies.map { $0.map { strlen($0) } ?? 0 }
    return redisCommandArgv(context, Int32(command.count), &arguments, &lengths)?
      .assumingMemoryBound(to: redisReply.self)
  }

  private static func shown(_ reply: redisReply) -> String {
    switch reply.type {
    case REDIS_REPLY_NIL: ""
    case REDIS_REPLY_INTEGER: "\(reply.integer)"
    case REDIS_REPLY_ARRAY:
      (0..<Int(reply.elements)).compactMap { reply.element[$0].map { shown($0.pointee) } }
        .joined(separator: "\n")
    default:
      String(
        decoding: UnsafeRawBufferPointer(start: reply.str, count: Int(reply.len)), as: UTF8.self)
    }
  }
}
