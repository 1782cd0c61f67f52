import ServerProcesses
import Testing

@Suite struct LedgerTotalsTests {
  @Test func totalsOfSeveralSimulatorsAreAdded() {
    var apple = LedgerTotals()
    apple.requests = 5
    apple.accepted = 3
    apple.refusals = ["Unregistered": 2]
    apple.tokens = 4
    apple.firstArrival = 20
    apple.lastArrival = 30
    apple.connections = 1
    var android = LedgerTotals()
    android.requests = 7
    android.accepted = 6
    android.refusals = ["UNREGISTERED": 1, "Unregistered": 1]
    android.tokens = 7
    android.firstArrival = 10
    android.lastArrival = 25
    android.connections = 2
    let sum = LedgerTotals() + apple + android
    #expect(sum.requests == 12 && sum.accepted == 9 && sum.tokens == 11 && sum.connections == 3)
    #expect(sum.refusals == ["Unregistered": 3, "UNREGISTERED": 1])
    #expect(sum.firstArrival == 10 && sum.lastArrival == 30)
  }

  @Test func aSimulatorThatNothingReachedHasNoFirstArrival() {
    var reached = LedgerTotals()
    reached.firstArrival = 20
    #expect((LedgerTotals() + reached).firstArrival == 20)
    #expect((LedgerTotals() + LedgerTotals()).firstArrival == 0)
  }
}
