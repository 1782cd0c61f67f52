import EventLoop
import Fixtures
import Glibc
import TLS
import Testing
import Threads

@testable import HTTPServer

/// A server on a loop of its own.
struct ServerBed {
  let port: Int
  let tls: TLSClientContext?
  private let loop: EventLoop

  static func run(
    _ change: (inout HTTPServerOptions) -> Void = { _ in }, isSecure: Bool = false,
    screen: @escaping @Sendable (HTTPRequest) -> HTTPScreening = { _ in
      .read(maximumBodyBytes: .max)
    },
    answer: @escaping @Sendable (HTTPRequest) async -> HTTPResponse,
    _ body: (ServerBed) async throws -> Void
  ) async throws {
    let loop = EventLoop(name: "http")
    defer {
      loop.stop()
      loop.join()
    }
    var options = HTTPServerOptions(wallClock: { 0 })
    change(&options)
    let identity = isSecure ? try TestIdentity() : nil
    options.identity = identity.map {
      HTTPServerIdentity(certificates: $0.certificates, privateKey: $0.privateKey)
    }
    let server = HTTPServer(loop: loop, options: options, screen: screen, answer: answer)
    let port = try await server.start()
    do {
      try await body(ServerBed(port: port, tls: identity?.client, loop: loop))
    } catch {
      await server.stop()
      throw error
    }
    await server.stop()
  }

  /// The server does nothing until `body` is done: it then finds all of it at once.
  func whileItIsBusy(_ body: () throws -> Void) rethrows {
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    let (mayGoOn, go) = (ends[0], ends[1])
    loop.execute {
      var byte: UInt8 = 0
      _ = read(mayGoOn, &byte, 1)
      close(mayGoOn)
    }
    defer { close(go) }
    try body()
  }

  /// What the server's thread has worked meanwhile.
  func processorSeconds(_ body: () throws -> Void) rethrows -> Double {
    let before = threadSeconds
    try body()
    return threadSeconds - before
  }

  private var threadSeconds: Double {
    let seconds = ThreadLock<Double?>(nil)
    loop.execute {
      var time = timespec()
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
      seconds.withLock { $0 = Double(time.tv_sec) + Double(time.tv_nsec) / 1e9 }
    }
    while seconds.withLock({ $0 }) == nil { sched_yield() }
    return seconds.withLock { $0 } ?? 0
  }

  func connect() throws -> RawClient { try RawClient(port: port, tls: tls) }

  /// One request on a connection that ends with it.
  func exchange(
    _ method: String = "GET", _ target: String = "/", headers: String = "", body: String = ""
  ) throws -> String? {
    let client = try connect()
    let length = body.isEmpty ? "" : "Content-Length: \(body.utf8.count)\r\n"
    client.send(
      "\(method) \(target) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\(length)\(headers)\r\n"
        + body)
    return client.readToEnd()
  }
}

/// Shows what has come.
@Sendable func echo(_ request: HTTPRequest) async -> HTTPResponse {
  let query = request.query.map { "\($0.name)=\($0.value ?? "nil")" }.joined(separator: ";")
  let body = String(decoding: request.body, as: UTF8.self)
  return .text(
    200, "\(request.method) \(request.path) [\(query)] \(request.headers["x-a"] ?? "-") [\(body)]")
}
