import Foundation
import Glibc
import Synchronization
import Testing

@testable import Telemetry

@Suite struct LogSinkTests {
  private let fixture = LogFixture()

  private func pipe() throws -> (read: Int32, write: Int32) {
    var ends: [Int32] = [0, 0]
    try #require(Glibc.pipe(&ends) == 0)
    return (ends[0], ends[1])
  }

  private func read(_ descriptor: Int32) -> String {
    var bytes = [UInt8](repeating: 0, count: 1 << 20)
    let count = Glibc.read(descriptor, &bytes, bytes.count)
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
  }

  /// Blocking and non-blocking alike: a pipe that nobody reads costs lines, not time.
  @Test(arguments: [false, true])
  func aFullPipeDropsLinesAndSaysSoLater(isNonBlocking: Bool) throws {
    let (reader, writer) = try pipe()
    defer {
      close(reader)
      close(writer)
    }
    if isNonBlocking { _ = fcntl(writer, F_SETFL, O_NONBLOCK) }
    let log = fixture.log(sink: DescriptorSink(descriptor: writer))
    let text = String(repeating: "word ", count: 150)
    for _ in 0..<1_000 { log.info("line", ["text": .text(text)]) }
    let dropped = log.statistics.dropped
    #expect(dropped > 800 && dropped < 1_000)
    let first = read(reader)
    #expect(first.hasSuffix("}\n"))
    #expect(first.split(separator: "\n").count == 1_000 - dropped)
    log.info("after")
    let second = read(reader).split(separator: "\n")
    try #require(second.count == 2)
    #expect(second[0].contains(#""msg":"log lines were dropped","dropped":\#(dropped)}"#))
    #expect(second[1].contains(#""msg":"after""#))
  }

  @Test func aReaderThatWentAwayIsSurvived() throws {
    let (reader, writer) = try pipe()
    close(reader)
    defer { close(writer) }
    let log = fixture.log(sink: DescriptorSink(descriptor: writer))
    for _ in 0..<3 { log.info("x") }
    #expect(log.statistics.dropped == 3)
  }

  @Test func aFullDiskAndAClosedDescriptorAreSurvived() throws {
    let full = open("/dev/full", O_WRONLY)
    defer { close(full) }
    for descriptor in [full, -1] {
      let log = fixture.log(sink: DescriptorSink(descriptor: descriptor))
      log.error("x")
      #expect(log.statistics.dropped == 1)
    }
  }

  /// A file-size limit tears a line in the middle; the next one must not continue it.
  @Test func aTornLineIsEndedBeforeTheNext() throws {
    let (reader, writer) = try pipe()
    defer {
      close(reader)
      close(writer)
    }
    _ = fcntl(writer, F_SETFL, O_NONBLOCK)
    let sink = DescriptorSink(descriptor: writer)
    // Longer than PIPE_BUF, so that a pipe with less room takes a part.
    let long = [UInt8](repeating: 0x78, count: 200_000)
    #expect(!long.withUnsafeBytes { sink.write($0) })
    let torn = read(reader)
    #expect(!torn.isEmpty && !torn.contains("\n"))
    #expect([UInt8]("next\n".utf8).withUnsafeBytes { sink.write($0) })
    #expect(read(reader) == "\nnext\n")
  }

  /// Lanes that log at the same moment into what has room for one line: none of them may wait. A
  /// pipe is what a container gives, a socket what systemd gives.
  @Test(arguments: [false, true])
  func lanesThatLogAtOnceDoNotWait(isSocket: Bool) throws {
    var ends: [Int32] = [0, 0]
    if isSocket {
      try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    } else {
      try #require(Glibc.pipe(&ends) == 0)
    }
    let sink = DescriptorSink(descriptor: ends[1])
    let line = [UInt8](repeating: 0x78, count: 4_000)
    let lanes = 4
    let ended = Atomic(0)
    let taken = Atomic(0)
    var threads: [Thread] = []
    for _ in 0..<lanes {
      let thread = Thread {
        for _ in 0..<2_000 {
          if line.withUnsafeBytes({ sink.write($0) }) { taken.add(1, ordering: .relaxed) }
        }
        ended.add(1, ordering: .relaxed)
      }
      thread.start()
      threads.append(thread)
    }
    // Room for one line, again and again, while all of them want it.
    var bytes = [UInt8](repeating: 0, count: 4_096)
    let deadline = ContinuousClock.now + .seconds(60)
    var reads = 0
    while ended.load(ordering: .relaxed) < lanes, ContinuousClock.now < deadline {
      // All may have ended, and left nothing to read, since they were asked.
      var readable = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
      guard reads < 200, poll(&readable, 1, 10) == 1 else { continue }
      reads += Glibc.read(ends[0], &bytes, bytes.count) > 0 ? 1 : 0
    }
    #expect(ended.load(ordering: .relaxed) == lanes)
    #expect(taken.load(ordering: .relaxed) > 0)
    // Whoever still waits is let go.
    for end in ends { close(end) }
  }
}
