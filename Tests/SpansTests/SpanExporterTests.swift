import EventLoop
import Model
import Telemetry
import Testing
import Threads

@testable import Spans

/// The way from the queue to the collector.
@Suite struct SpanExporterTests {
  private static func span(_ number: Int) throws -> Span {
    Span(
      "s\(number)", .internal, of: TraceID(high: 1, low: 1), id: UInt64(number + 1), parent: nil,
      from: 1, to: 2, [])
  }

  private static func answer(_ status: Int, _ body: String = "{}") -> CollectorReply {
    .answer(status: status, body: Array(body.utf8), retryAfter: nil)
  }

  // MARK: the queue

  @Test func aFullQueueDropsAndCounts() throws {
    let counters = WorkerCounters()
    let queue = SpanQueue(counters: counters)
    for number in 0..<SpanQueue.maximum - 1 { queue.add([try Self.span(number)]) }
    queue.add(try (0..<3).map(Self.span))
    #expect(queue.count == SpanQueue.maximum && counters.snapshot()[.spansDropped] == 2)
    #expect(queue.take(2).map(\.name) == ["s0", "s1"])
    queue.add([try Self.span(0)])
    #expect(counters.snapshot()[.spansDropped] == 2)
  }

  // MARK: a batch

  @Test func whatTheCollectorTakesIsDone() throws {
    var batch = SpanBatch(try (0..<5).map(Self.span))
    #expect(batch.take(Self.answer(200), fraction: 0) == .taken(refused: 0, why: nil))
    let some = #"{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}"#
    #expect(batch.take(Self.answer(202, some), fraction: 0) == .taken(refused: 2, why: "too old"))
    let all = #"{"partialSuccess":{"rejectedSpans":99}}"#
    #expect(batch.take(Self.answer(200, all), fraction: 0) == .taken(refused: 5, why: nil))
    #expect(batch.take(Self.answer(200, "nonsense"), fraction: 0) == .taken(refused: 0, why: nil))
  }

  @Test(arguments: [400, 401, 404, 413, 500, 301])
  func whatNoTryMendsIsDropped(_ status: Int) throws {
    var batch = SpanBatch([try Self.span(0)])
    #expect(
      batch.take(Self.answer(status, "no"), fraction: 0) == .dropped(why: "status \(status): no"))
  }

  @Test(arguments: [429, 502, 503, 504])
  func anOverloadedCollectorIsAskedLaterAndNotForEver(_ status: Int) throws {
    var batch = SpanBatch([try Self.span(0)])
    var delays: [Duration] = []
    while case .later(let delay, _) = batch.take(Self.answer(status), fraction: 1) {
      delays.append(delay)
    }
    #expect(delays == [1, 2, 4, 8, 16].map { .seconds($0) })
  }

  @Test func retryAfterIsHeededWithinBounds() throws {
    func delay(_ asked: Duration) throws -> SpanBatch.Outcome {
      var batch = SpanBatch([try Self.span(0)])
      return batch.take(.answer(status: 429, body: [], retryAfter: asked), fraction: 0)
    }
    #expect(try delay(.seconds(20)) == .later(.seconds(20), why: "status 429"))
    #expect(try delay(.seconds(900)) == .later(.seconds(60), why: "status 429"))
    #expect(try delay(.zero) == .later(.milliseconds(500), why: "status 429"))
  }

  // MARK: the exporter

  /// What the collector was sent, and how it answers.
  private final class Collector: Sendable {
    let sent = ThreadLock<[String]>([])
    let replies: ThreadLock<[CollectorReply]>

    init(_ replies: [CollectorReply]) { self.replies = ThreadLock(replies) }

    func answer(_ document: String) -> CollectorReply {
      sent.withLock { $0.append(document) }
      return replies.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
    }
  }

  private struct NoLines: LogSink {
    func write(_ line: UnsafeRawBufferPointer) -> Bool { true }
  }

  /// Starts an exporter with so many spans in its queue and stops it; what the counters say then.
  private static func export(
    _ spans: Int, _ collector: Collector
  ) async throws -> (exported: Int, dropped: Int) {
    let counters = WorkerCounters()
    let queue = SpanQueue(counters: counters)
    queue.add(try (0..<spans).map(span))
    let options = SpanOptions(document: OTLPDocument(attributes: [], version: "1")) { text, _ in
      collector.answer(text)
    }
    let exporter = SpanExporter(
      options, queue: queue, log: Log(sink: NoLines()),
      loop: EventLoop(name: "spans"), randomFraction: { 0 })
    await exporter.start()
    await exporter.stop()
    let counts = counters.snapshot()
    return (counts[.spansExported], counts[.spansDropped])
  }

  @Test func spansGoInBatchesAndAreCounted() async throws {
    let collector = Collector([Self.answer(200)])
    let counts = try await Self.export(SpanBatch.maximum + 10, collector)
    #expect(counts == (SpanBatch.maximum + 10, 0))
    let sent = collector.sent.withLock { $0 }
    #expect(sent.count == 2 && sent[1].contains("s\(SpanBatch.maximum)"))
  }

  @Test func whatIsLeftWhenAWorkerStopsIsDropped() async throws {
    let collector = Collector([Self.answer(200), .failure("away")])
    let counts = try await Self.export(SpanBatch.maximum + 10, collector)
    #expect(counts == (SpanBatch.maximum, 10))
    #expect(collector.sent.withLock { $0.count } == 2)
  }

  @Test func aRefusedBatchDoesNotHoldUpTheNext() async throws {
    let collector = Collector([Self.answer(400), Self.answer(200)])
    let counts = try await Self.export(SpanBatch.maximum + 10, collector)
    #expect(counts == (10, SpanBatch.maximum))
  }
}
