/// What one request more costs a program: busy runs less idle ones, over the requests between
/// them. Setting up is the same work each time, and a machine only ever adds to it (memory that is
/// touched for the first time costs a virtual machine dearly), so the least of the idle runs
/// serves all: a disturbed one would make a busy one look cheap.
package struct MarginalCost: Sendable, Equatable {
  private let requests: Int
  private var busy: [Double] = []
  private var idle: [Double] = []

  /// - Parameter requests: what a busy run does more than an idle one.
  package init(requests: Int) { self.requests = max(1, requests) }

  /// One run of each, in any unit.
  package mutating func add(busy: Double, idle: Double) {
    self.busy.append(busy)
    self.idle.append(idle)
  }

  /// The cost of a request in each busy run so far, in their order.
  package var perRequest: [Double] {
    let setUp = idle.min() ?? 0
    return busy.map { ($0 - setUp) / Double(requests) }
  }
}
