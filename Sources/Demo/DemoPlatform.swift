import Devices
import LocalStack

/// A platform of the demo: its simulator, its devices, and how its answers are read. Another one is
/// an entry of `DemoRun.Options.platforms`.
package struct DemoPlatform: Sendable {
  /// For people.
  package let title: String
  package let local: LocalPlatform
  package let devices: SyntheticDevices
  /// The reason by which its push service refuses devices that are gone.
  package let goneReason: String
  /// Answers after which the worker tries again: the ledger counts every try, Redis the outcome.
  package let retriedReasons: Set<String>
  /// The worker's names of the reasons that the simulator calls otherwise.
  private let reasonNames: [String: String]

  package init(
    title: String, local: LocalPlatform, devices: SyntheticDevices, goneReason: String,
    retriedReasons: Set<String>, reasonNames: [String: String] = [:]
  ) {
    self.title = title
    self.local = local
    self.devices = devices
    self.goneReason = goneReason
    self.retriedReasons = retriedReasons
    self.reasonNames = reasonNames
  }
  /// Refusals as the simulator counts them, by the worker's names.
  func named(_ refusals: [String: Int]) -> [String: Int] {
    Dictionary(refusals.map { (reasonNames[$0.key] ?? $0.key, $0.value) }, uniquingKeysWith: +)
  }
}
