import EventLoop
import Testing

@testable import Deliver

@Suite struct RouteSignalsTests {
  @Test func theRouteIsPumpedOnceATurn() async throws {
    try await onLoop { _, loop in
      let signals = RouteSignals(loop: loop)
      var pumped = 0
      signals.pump = { pumped += 1 }
      signals.schedulePump()
      signals.schedulePump()
      #expect(pumped == 0)
      await loop.wait(.zero)
      #expect(pumped == 1)
      // Also when it asks for another while it is pumped.
      signals.pump = {
        pumped += 1
        if pumped == 2 { signals.schedulePump() }
      }
      signals.schedulePump()
      for _ in 0..<1000 where pumped < 3 { await loop.wait(.milliseconds(1)) }
      #expect(pumped == 3)
      signals.stop()
      signals.schedulePump()
      await loop.wait(.milliseconds(1))
      #expect(pumped == 3)
      signals.pump = {}
    }
  }
}
