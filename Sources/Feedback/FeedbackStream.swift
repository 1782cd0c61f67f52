import Deliver
import EventLoop
import Legacy
import Text
import Transport

/// Reads a feedback service of the legacy binary interface to its end: it tells every token that is
/// gone, forgets what it told, and closes. Confined to its loop.
package final class FeedbackStream {
  package struct Reading: Sendable {
    package var tuples: [FeedbackTuple] = []
    /// Why it was not read to the end. The tuples before are true, and the service has forgotten
    /// them.
    package var failure: String?
  }

  /// The longest waits, and the most tuples.
  struct Limits {
    /// For the connection, and then between two pieces.
    var timeout: Duration
    /// In all: what a service has told is not worked on before its end, and one that tells a byte
    /// now and then would never come to it.
    var whole: Duration = .seconds(600)
    /// They are in memory together.
    var tuples = 500_000
  }

  private let route: RouteTarget
  private let loop: EventLoop
  private var reading = Reading()
  private var reader = FeedbackReader()
  private var connection: Connection?
  private var deadline: LoopTimer?
  private var wholeDeadline: LoopTimer?
  private var continuation: CheckedContinuation<Void, Never>?
  private let limits: Limits

  init(_ route: RouteTarget, limits: Limits, loop: EventLoop) {
    self.route = route
    self.limits = limits
    self.loop = loop
  }

  /// Reads it on a loop of its own.
  /// - Parameter timeout: for the connection, and then between two pieces.
  package static func read(_ route: RouteTarget, timeout: Duration) async -> Reading {
    await EventLoop.temporary("feedback") { (_: isolated LoopActor, loop: EventLoop) async in
      await FeedbackStream(route, limits: Limits(timeout: timeout), loop: loop).read()
    }
  }

  func read() async -> Reading {
    await withCheckedContinuation { continuation in
      self.continuation = continuation
      let connection = Connection(
        to: route.endpoint, tls: route.tls,
        options: route.transport(connectTimeout: limits.timeout), loop: loop, delegate: self)
      self.connection = connection
      connection.connect()
    }
    deadline?.cancel()
    wholeDeadline?.cancel()
    connection?.close()
    return reading
  }

  private var endpoint: Endpoint { route.endpoint }

  private func waitForMore() {
    deadline?.cancel()
    deadline = loop.schedule(after: limits.timeout) { [weak self] in
      guard let self else { return }
      finish(
        "\(endpoint) did not close within \(DurationText.text(limits.timeout)) of its last word")
    }
  }

  private func finish(_ failure: String?) {
    guard let continuation else { return }
    self.continuation = nil
    reading.failure = failure
    continuation.resume()
  }

  private static func words(_ failure: FeedbackReader.Failure) -> String {
    switch failure {
    case .badLength(let length): "tells a token of \(length) bytes: is it a feedback service?"
    case .cutShort: "ended within a token"
    }
  }
}

extension FeedbackStream: ConnectionDelegate {
  package func connectionOpened(_ connection: Connection) {
    waitForMore()
    wholeDeadline = loop.schedule(after: limits.whole) { [weak self] in
      guard let self else { return }
      finish("\(endpoint) did not come to its end in \(DurationText.text(limits.whole))")
    }
  }

  package func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
    guard continuation != nil else { return }
    waitForMore()
    do throws(FeedbackReader.Failure) {
      try reader.read(bytes, into: &reading.tuples)
    } catch {
      return finish("\(endpoint) " + Self.words(error))
    }
    guard reading.tuples.count <= limits.tuples else {
      return finish("\(endpoint) tells more than \(limits.tuples) tokens: read it again")
    }
  }

  package func connectionDrained(_ connection: Connection) {}

  package func connectionClosed(_ connection: Connection, error: TransportError?) {
    if let error { return finish(error.description) }
    do throws(FeedbackReader.Failure) {
      try reader.finish()
      finish(nil)
    } catch {
      finish("\(endpoint) " + Self.words(error))
    }
  }
}
