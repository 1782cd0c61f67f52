import EventLoop
import Text

/// A client's connection to a simulator.
package protocol SimulatorConnection: AnyObject {
  associatedtype Answer

  /// Monotonic nanoseconds of the last bytes.
  var heardAt: UInt64 { get }

  func closeBecauseIdle()
  func close()
  /// Gives a request its answer, unless its stream is over. `flush` puts it on the wire.
  func perform(_ answer: Answer, slot: Int, stream: Int32)
  func flush()
}

/// The connections of a simulator, and their answers that wait for their time. Closes those that
/// have been idle for too long. Confined to its loop.
package final class SimulatorConnections<Member: SimulatorConnection> {
  /// An answer that is due later.
  private struct Delayed {
    let connection: Member
    let slot: Int
    let stream: Int32
    let answer: Member.Answer
  }

  private let loop: EventLoop
  private let idleTimeout: Duration
  private var members: [ObjectIdentifier: (number: Int, member: Member)] = [:]
  private var lastNumber = 0
  private var delayed = DueHeap<Delayed>()
  private var idleTimer: LoopTimer?
  private var timer: LoopTimer?
  private var timerDue = UInt64.max

  package init(loop: EventLoop, idleTimeout: Duration) {
    self.loop = loop
    self.idleTimeout = idleTimeout
    closeIdle()
  }

  package var count: Int { members.count }

  /// In the order in which they came.
  package var all: [Member] {
    members.values.sorted { $0.number < $1.number }.map(\.member)
  }

  package func add(_ member: Member) {
    lastNumber += 1
    members[ObjectIdentifier(member)] = (lastNumber, member)
  }

  package func remove(_ member: Member) { members[ObjectIdentifier(member)] = nil }

  package func closeAll() {
    timer?.cancel()
    idleTimer?.cancel()
    for member in all { member.close() }
  }

  /// Looks four times within the time that a connection may be idle.
  private func closeIdle() {
    let limit = idleTimeout.nanoseconds
    for member in all where loop.now &- member.heardAt >= limit { member.closeBecauseIdle() }
    idleTimer = loop.schedule(after: idleTimeout / 4) { [weak self] in self?.closeIdle() }
  }

  // MARK: answers

  /// - Parameter delay: nanoseconds.
  package func answer(
    _ connection: Member, _ answer: Member.Answer, slot: Int, stream: Int32, after delay: UInt64
  ) {
    guard delay > 0 else { return connection.perform(answer, slot: slot, stream: stream) }
    delayed.insert(
      Delayed(connection: connection, slot: slot, stream: stream, answer: answer),
      due: loop.now &+ delay)
    scheduleTimer()
  }

  private func scheduleTimer() {
    guard let due = delayed.nextDue, due < timerDue else { return }
    timer?.cancel()
    timerDue = due
    let wait = due > loop.now ? due - loop.now : 0
    timer = loop.schedule(after: .nanoseconds(Int64(clamping: wait))) { [weak self] in
      self?.answerDue()
    }
  }

  private func answerDue() {
    timerDue = .max
    var touched: [Member] = []
    var known: Set<ObjectIdentifier> = []
    while let item = delayed.popFirst(dueAt: loop.now) {
      item.connection.perform(item.answer, slot: item.slot, stream: item.stream)
      if known.insert(ObjectIdentifier(item.connection)).inserted {
        touched.append(item.connection)
      }
    }
    for connection in touched { connection.flush() }
    scheduleTimer()
  }
}
