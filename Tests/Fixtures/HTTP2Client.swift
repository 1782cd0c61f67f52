import EventLoop
import HTTP2
import TLS
import Transport

/// An answer as `HTTP2Client` has it.
package struct HTTP2Reply: Sendable {
  package var status = 0
  package var headers: [String: String] = [:]
  package var body: [UInt8] = []
  /// The stream's error code; nil: the connection was lost first.
  package var closed: UInt32?

  package init() {}

  package var text: String { String(decoding: body, as: UTF8.self) }
}

/// A small HTTP/2 client on a loop; every method is called on it.
package final class HTTP2Client {
  private let loop: EventLoop
  private var connection: Connection?
  private var session: HTTP2ClientSession?
  private var replies: [Int: HTTP2Reply] = [:]
  private var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
  private var watchers: [CheckedContinuation<Void, Never>] = []
  private var bodies: [UnsafeMutableRawBufferPointer] = []
  private var blocks: [HTTP2FieldBlock] = []
  package private(set) var isOpen = false
  package private(set) var isLost = false
  package private(set) var goAways: [HTTP2GoAway] = []
  package private(set) var streamLimits: [Int] = []

  package init(_ loop: EventLoop) { self.loop = loop }

  deinit { for body in bodies { body.deallocate() } }

  /// Begins to connect; requests may be started at once.
  package func dial(
    _ endpoint: Endpoint, authorityFile: String, certificate: ClientCertificate? = nil,
    assumedStreams: Int
  ) throws {
    let trust = try TLSClientContext(
      caFile: authorityFile, alpn: ["h2"], certificate: certificate)
    var options = HTTP2ClientOptions()
    options.assumedMaximumStreams = assumedStreams
    options.maximumSlots = 200_000
    options.keptFields = .all
    options.keptBodyBytes = 16 << 20
    session = try HTTP2ClientSession(options: options)
    let made = Connection(
      to: endpoint, tls: trust, options: TransportOptions(), loop: loop, delegate: self)
    connection = made
    made.connect()
  }

  /// What the server allows now.
  package var streamLimit: Int { session?.remoteMaxConcurrentStreams ?? 0 }

  package func close() {
    connection?.close()
    session?.abandon()
    connection = nil
    session = nil
  }

  /// Starts a request; `reply(to:)` waits for its end.
  package func start(
    _ fields: [(name: String, value: String, indexing: HTTP2Indexing)], body: [UInt8]
  ) throws -> Int {
    let block = try HTTP2FieldBlock(fields)
    let slot = bodies.count
    let memory = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(body.count, 1), alignment: 1)
    memory.copyBytes(from: body)
    bodies.append(memory)
    blocks.append(block)
    replies[slot] = HTTP2Reply()
    guard let session else { return slot }
    _ = try session.submit(
      block, body: UnsafeRawBufferPointer(rebasing: memory[0..<body.count]), slot: slot)
    if isOpen { flush() }
    return slot
  }

  package func reply(to slot: Int) async -> HTTP2Reply {
    if !isLost, replies[slot]?.closed == nil {
      await withCheckedContinuation { waiting[slot] = $0 }
    }
    return replies[slot] ?? HTTP2Reply()
  }

  /// Waits until something has made `condition` true.
  package func until(_ condition: (HTTP2Client) -> Bool) async {
    while !condition(self) { await withCheckedContinuation { watchers.append($0) } }
  }

  /// Answers that are still missing.
  package var unanswered: Int { replies.values.count { $0.closed == nil } }

  private func flush() {
    do {
      while let bytes = try session?.nextOutput() { connection?.write(bytes) }
    } catch {
      lose()
    }
  }

  private func hear() {
    guard let session else { return }
    if session.takeSettingsChange() { streamLimits.append(streamLimit) }
    if let goAway = session.takeGoAway() { goAways.append(goAway) }
    while let ended = session.nextEnded() {
      replies[ended.slot]?.status = ended.status
      replies[ended.slot]?.body = ended.content?.body ?? []
      for field in ended.content?.fields ?? [] {
        let name = String(decoding: field.name, as: UTF8.self)
        replies[ended.slot]?.headers[name] = String(decoding: field.value, as: UTF8.self)
      }
      replies[ended.slot]?.closed = ended.errorCode
      waiting.removeValue(forKey: ended.slot)?.resume()
    }
  }

  private func lose() {
    isLost = true
    connection?.close()
    session?.abandon()
    for continuation in waiting.values { continuation.resume() }
    waiting = [:]
    changed()
  }

  private func changed() {
    let waking = watchers
    watchers = []
    for watcher in waking { watcher.resume() }
  }
}

extension HTTP2Client: ConnectionDelegate {
  package func connectionOpened(_ connection: Connection) {
    isOpen = true
    flush()
    changed()
  }

  package func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
    do {
      try session?.receive(bytes)
      hear()
      flush()
    } catch {
      lose()
    }
    changed()
  }

  package func connectionDrained(_ connection: Connection) {}
  package func connectionClosed(_ connection: Connection, error: TransportError?) { lose() }
}
