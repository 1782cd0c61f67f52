/// A fan-out and what its hash says.
package struct KnownFanOut: Sendable, Equatable {
  package let event: String
  package let status: FanOutStatus

  package init(event: String, status: FanOutStatus) {
    self.event = event
    self.status = status
  }
}
