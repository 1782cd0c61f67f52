import CHiredis
import Glibc
import Transport

/// One command over a connection of its own, which blocks its thread, and what `redis-cli` would
/// print for it. For local servers of the demo, the benchmarks and tests, which ask thousands of
/// times: a process for each costs them forty times as much as the answer. Workers never wait so.
package enum RedisCommandLine {
  private static let host = "127.0.0.1"
  /// A server that is frozen is waited for that long; redis-cli would wait for ever.
  private static let answerLimit = timeval(tv_sec: 120, tv_usec: 0)
  /// A cluster whose nodes send us round in circles.
  private static let mostRedirects = 16

  /// Strings as they are, integers in digits, one line for each member of an array, nothing for
  /// null, an error's own words.
  ///
  /// - Parameter followsRedirects: where a cluster says MOVED or ASK, the node that it names is
  ///   asked.
  /// - Throws: no connection, or it broke before the answer.
  package static func run(
    _ command: [String], port: Int, followsRedirects: Bool = false
  ) throws(RedisError) -> String {
    var port = port
    var asks = false
    for _ in 0...mostRedirects {
      let reply = try answer(to: command, port: port, asks: asks)
      defer { freeReplyObject(reply) }
      let text = shown(reply.pointee)
      guard followsRedirects, reply.pointee.type == REDIS_REPLY_ERROR else { return text }
      switch ClusterRedirect(RedisErrorReply(text), from: Endpoint(host: host, port: port)) {
      case .moved(_, let other?): (port, asks) = (other.port, false)
      case .ask(let other?): (port, asks) = (other.port, true)
      default: return text
      }
    }
    throw RedisError(.unexpected, "the nodes send us round in circles")
  }

  private static func answer(
    to command: [String], port: Int, asks: Bool
  ) throws(RedisError) -> UnsafeMutablePointer<redisReply> {
    guard let context = redisConnectWithTimeout(host, Int32(port), answerLimit) else {
      throw RedisError(.unavailable, "no memory for a connection")
    }
    defer { redisFree(context) }
    guard context.pointee.err == 0, redisSetTimeout(context, answerLimit) == REDIS_OK else {
      throw RedisError(.unavailable, "no connection to port \(port)")
    }
    if asks { freeReplyObject(call(["ASKING"], context)) }
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
    defer { copies.forEach { free($0) } }
    var arguments = copies.map { UnsafePointer<CChar>($0) }
    var lengths = command.map(\.utf8.count)
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
