/// One connection of a client to the broker: requests arrive, and answers come back, in the order
/// in which they were sent, each after a delay of its own. How many of the requests that were under
/// way when the connection broke have arrived is a matter of chance, as on a network.
final class MemoryLink {
  private final class Call {
    var serve: () -> Void = {}
    var fail: () -> Void = {}
    /// Once the broker has answered.
    var deliver: (() -> Void)?
    var hasArrived = false
    var isOver = false
  }

  private let host: MemoryHost
  private var calls: [Call] = []
  private var lastArrival: UInt64 = 0
  private var lastAnswer: UInt64 = 0

  init(_ host: MemoryHost) { self.host = host }

  /// - Parameters:
  ///   - serve: runs when the request arrives, and answers then or later, once.
  ///   - then: runs at the client; nil: the connection broke before there was an answer.
  func ask<Answer>(
    _ request: MemoryRequest, _ serve: @escaping (@escaping (Answer) -> Void) -> Void,
    then: @escaping (Answer?) -> Void
  ) {
    let call = Call()
    call.serve = { [weak self, weak call] in
      serve { answer in
        if let self, let call { self.answered(call, request) { then(answer) } }
      }
    }
    call.fail = { then(nil) }
    calls.append(call)
    let time = host.broker.time
    lastArrival = max(lastArrival, time.now() &+ host.broker.delay(request).wholeNanoseconds)
    // What was sent arrives, whatever becomes of the client.
    time.schedule(at: lastArrival) { self.arrive(call) }
  }

  /// Breaks the connection. What was sent first may have arrived, the rest has not.
  func disconnect() {
    let lost = calls
    calls = []
    let underWay = lost.filter { !$0.hasArrived }
    for call in lost { call.isOver = true }
    if !underWay.isEmpty {
      let arrived = host.broker.time.random() % UInt64(underWay.count + 1)
      for call in underWay.prefix(Int(arrived)) { call.serve() }
    }
    for call in lost { host.perform { call.fail() } }
  }

  /// All that is under way arrives now.
  func flush() { for call in calls { arrive(call) } }

  /// The same, and what is answered reaches the client now.
  func finish() {
    flush()
    for call in calls {
      guard let deliver = call.deliver else { continue }
      end(call)
      deliver()
    }
  }

  private func arrive(_ call: Call) {
    guard !call.isOver, !call.hasArrived, !host.isCut, !host.broker.isAway else { return }
    call.hasArrived = true
    call.serve()
  }

  private func answered(_ call: Call, _ request: MemoryRequest, _ deliver: @escaping () -> Void) {
    guard !call.isOver, call.deliver == nil else { return }
    call.deliver = deliver
    let time = host.broker.time
    lastAnswer = max(lastAnswer, time.now() &+ host.broker.delay(request).wholeNanoseconds)
    time.schedule(at: lastAnswer) { [weak self] in
      guard let self else { return }
      host.perform {
        guard !call.isOver else { return }
        self.end(call)
        deliver()
      }
    }
  }

  /// Forgets what is under way.
  func drop() {
    for call in calls { call.isOver = true }
    calls = []
  }

  private func end(_ call: Call) {
    call.isOver = true
    if let index = calls.firstIndex(where: { $0 === call }) { calls.remove(at: index) }
  }
}
