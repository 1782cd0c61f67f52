import Testing

@testable import SimulatorSupport

/// Which message of a connection gets which fault.
@Suite struct ConnectionMessagesTests {
  /// The steps of messages on the streams 1, 3, 5…, each processed when its step says so.
  private func steps(
    _ count: Int, _ faults: ConnectionFaults
  ) -> (steps: [ConnectionMessages.Step], messages: ConnectionMessages) {
    var messages = ConnectionMessages()
    let steps = (0..<count).map { index in
      let stream = Int32(2 * index + 1)
      let step = messages.arrived(slot: index, stream: stream, faults)
      if step == .process || step == .processAndGoAway { messages.processed(stream) }
      if step == .goAway || step == .processAndGoAway { _ = messages.goesAway() }
      return step
    }
    return (steps, messages)
  }

  @Test func withoutFaultsAllAreProcessed() {
    let (steps, messages) = steps(3, ConnectionFaults())
    #expect(steps == [.process, .process, .process] && messages.goAwayStream == nil)
    #expect(messages.lastStream == 5 && !messages.isSilent(ConnectionFaults()))
  }

  @Test func aGoAwayComesWithItsLastMessage() {
    var faults = ConnectionFaults()
    faults.goAwayAfter = 2
    let (steps, messages) = steps(4, faults)
    #expect(steps == [.process, .processAndGoAway, .ignore, .ignore])
    #expect(messages.goAwayStream == 3)
  }

  @Test func theLastMessagesBeforeAGoAwayAreHeld() {
    var faults = ConnectionFaults()
    faults.goAwayAfter = 4
    faults.goAwayBehind = 2
    var (steps, messages) = steps(5, faults)
    #expect(steps == [.process, .process, .hold, .goAway, .ignore])
    #expect(messages.goAwayStream == 3)
    #expect(messages.release(below: 6).map(\.stream) == [5])
    #expect(messages.release(below: .max).isEmpty)
  }

  /// One that is below the last stream may come to its end after the GOAWAY.
  @Test func aLateMessageBelowTheLastStreamIsProcessed() {
    var faults = ConnectionFaults()
    faults.goAwayAfter = 1
    var messages = ConnectionMessages()
    messages.processed(9)
    #expect(messages.arrived(slot: 0, stream: 9, faults) == .processAndGoAway)
    #expect(messages.goesAway() == 9)
    #expect(messages.arrived(slot: 1, stream: 7, faults) == .process)
    #expect(messages.arrived(slot: 2, stream: 11, faults) == .ignore)
  }

  @Test func dropsAndSilenceBeginAtTheirMessage() {
    var faults = ConnectionFaults()
    faults.silentAfter = 2
    faults.dropAfter = 3
    #expect(steps(1, faults).messages.isSilent(faults) == false)
    let (steps, messages) = steps(3, faults)
    #expect(steps == [.process, .process, .drop] && messages.isSilent(faults))
  }
}
