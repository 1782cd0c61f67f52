import Testing

@testable import Kafka

@Suite struct BrokerStatesTests {
  private func broker(_ state: String, idle: Int) -> String {
    #""b":{"name":"b","state":"\#(state)","stateage":1,"rx":7,"rxidle":\#(idle),"req":{"Fetch":1}}"#
  }

  private func anyAnswers(_ brokers: String...) -> Bool? {
    BrokerStates.anyAnswers(#"{"brokers":{\#(brokers.joined(separator: ","))},"topics":{}}"#)
  }

  @Test func oneThatAnswersIsEnough() {
    #expect(anyAnswers() == nil)
    #expect(anyAnswers(broker("UP", idle: 100)) == true)
    #expect(anyAnswers(broker("UPDATE", idle: 100)) == true)
    #expect(anyAnswers(broker("UP", idle: -1)) == true, "connected just now")
    #expect(anyAnswers(broker("INIT", idle: -1)) == false)
    #expect(anyAnswers(broker("DOWN", idle: 100), broker("TRY_CONNECT", idle: 100)) == false)
    #expect(anyAnswers(broker("DOWN", idle: 0), broker("UP", idle: 15_000_000)) == true)
  }

  /// Its machine is gone or its process frozen: the connection stands for a minute.
  @Test func oneThatIsSilentIsNot() {
    #expect(anyAnswers(broker("UP", idle: 15_000_001)) == false)
    #expect(anyAnswers(broker("UP", idle: 20_000_000), broker("DOWN", idle: 0)) == false)
    #expect(anyAnswers(broker("UP", idle: 20_000_000), broker("UP", idle: 5)) == true)
  }

  @Test func whatIsNotThereIsNotWaitedFor() {
    #expect(BrokerStates.anyAnswers(#"{"state":"UP""#) == true)
    #expect(BrokerStates.anyAnswers("") == nil)
  }
}
