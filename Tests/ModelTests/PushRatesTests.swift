import Model
import Testing

/// Which limit an event has: ours, its own, that of its app.
@Suite struct PushRatesTests {
  private func event(_ own: Int?) -> Event {
    Event(
      id: "e1", app: "a.b", streamer: "s1", stream: "b1", template: "go-live", occurredAt: 0,
      expiresAt: 1, pushesPerSecond: own, fields: [:], document: [])
  }

  @Test(
    arguments: [
      (nil, nil, nil), (5, nil, 5), (nil, 7, 7), (5, 7, 5), (7, 5, 5),
    ] as [(Int?, Int?, Int?)])
  func theLowerOfTwoLimitsIsTheEvents(ours: Int?, own: Int?, expected: Int?) {
    var rates = PushRates()
    rates.event = ours
    #expect(rates.rate(of: event(own)) == expected)
    #expect(rates.bounds(event(own)) == (expected != nil))
    rates.apps = ["c.d": 1]
    #expect(rates.bounds(event(own)) == (expected != nil), "it is another app's")
    rates.apps = ["a.b": 1]
    #expect(rates.bounds(event(own)) && rates.rate(of: event(own)) == expected)
  }
}
