import HTTPServer
import JSON
import Keyspace
import Redis
import TLS
import Text

/// Answers that are kept for who asks the same again, because the first answer did not reach them:
/// with the header `Idempotency-Key` a request is done once. In Redis, so that it does not matter
/// which process is asked. Confined to the loop of its Redis client.
final class IdempotentAnswers {
  enum Claim {
    /// It was not asked before: do it, and `keep` or `release`.
    case mine
    case answered(APIResponse)
  }

  private let redis: RedisClient
  private let keyspace: Keyspace
  /// How long whoever began may take; a process that dies has told nobody.
  private static let claimSeconds = 60

  init(redis: RedisClient, keyspace: Keyspace) {
    self.redis = redis
    self.keyspace = keyspace
  }

  /// Returns the name under which an answer is kept. Two holders may use the same idempotency key
  /// for different requests.
  static func name(_ given: String, of key: APIKey, _ route: APIRoute) -> String {
    Hexadecimal.text(
      SecretDigest(of: Array("\(key.name)\n\(route.method) \(route.pattern)\n\(given)".utf8)).bytes)
  }

  /// Returns a digest of all that tells one request from another: its path, its arguments, its
  /// body, and the headers about its body. CloudEvents may carry the event's id in headers.
  static func fingerprint(_ request: HTTPRequest) -> String {
    let headers = request.headers.filter { $0.key == "content-type" || $0.key.hasPrefix("ce-") }
      .sorted { $0.key < $1.key }
    let parts =
      [request.path, "\(request.query.count)"]
      + request.query.flatMap { [$0.name, $0.value ?? ""] }
      + headers.flatMap { [$0.key, $0.value] }
    // Each part follows its length, since percent-decoded text may hold any separator.
    let head = "\(parts.count)\n" + parts.map { "\($0.utf8.count):\($0)" }.joined()
    return Hexadecimal.text(SecretDigest(of: Array(head.utf8) + request.body).bytes)
  }

  /// The value in Redis while a request is worked on. Each claim is unique.
  static func claim(of fingerprint: String, _ number: UInt64) -> String {
    "\(fingerprint)\n\(Hexadecimal.text(number, digits: 16))"
  }

  func claim(_ name: String, _ fingerprint: String, as claim: String) async throws(Problem) -> Claim
  {
    let key = keyspace.idempotency(name)
    let replies = try await redis.ask(
      ["SET", key, claim, "NX", "EX", String(Self.claimSeconds)], ["GET", key])
    if !replies[0].isNull { return .mine }
    // It may have ended in between.
    guard let kept = replies[1].text else { throw Self.underWay }
    let parts = kept.split(separator: "\n", maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.first.map(String.init) == fingerprint else {
      throw Problem(
        .keyReused,
        "this Idempotency-Key was used with another body or path: take a new one for each request")
    }
    guard parts.count == 4, let status = Int(parts[1]) else { throw Self.underWay }
    let body = try? JSONValue.parse(Array(parts[3].utf8))
    var headers = ["Idempotency-Replayed": "true"]
    if !parts[2].isEmpty { headers["Location"] = String(parts[2]) }
    return .answered(APIResponse(status: status, body: body, headers: headers))
  }

  func keep(
    _ response: APIResponse, _ name: String, _ fingerprint: String
  ) async throws(Problem) {
    let body = response.body.map { JSONText.compact($0) } ?? ""
    _ = try await redis.ask([
      "SET", keyspace.idempotency(name),
      "\(fingerprint)\n\(response.status)\n\(response.headers["Location"] ?? "")\n\(body)",
      "EX", String(Keyspace.idempotencyLifetimeSeconds),
    ])
  }

  /// It was not done, and may be tried again with the same key. Another's claim stays.
  func release(_ name: String, _ claim: String) async throws(RedisError) {
    _ = try await redis.evaluate(
      Self.releasing,
      ScriptCall(keys: [keyspace.idempotency(name)], arguments: ["claim": claim]))
  }

  private static let releasing = RedisScript([PackageResources.release_answer_lua])

  private static let underWay = Problem(
    .conflict, "a request with this Idempotency-Key is being worked on: ask again in a second",
    headers: ["Retry-After": "1"])
}
