/// Counts of a restoration, or of its dry run.
package struct RestorationCounts: Sendable {
  /// Devices that were set aside for the same reason, of the same app and environment.
  package struct Group: Hashable, Sendable {
    package let reason: String
    package let topic: String
    package let environment: String
  }

  package private(set) var groups: [Group: Int] = [:]
  package private(set) var restored = 0
  package private(set) var takenByAnother = 0
  package private(set) var changed = 0
  package var unreadable = 0
  package var isInterrupted = false

  package init() {}

  package mutating func add(_ devices: [(device: QuarantinedDevice, fate: DeviceRestoration.Fate)])
  {
    for (device, fate) in devices {
      switch fate {
      case .restored:
        restored += 1
        let group = Group(
          reason: device.reason, topic: device.binding.topic,
          environment: device.binding.destination.name)
        groups[group, default: 0] += 1
      case .takenByAnother: takenByAnother += 1
      case .changed: changed += 1
      }
    }
  }

  package var sortedGroups: [(group: Group, count: Int)] {
    groups.map { (group: $0.key, count: $0.value) }.sorted {
      ($0.count, $1.group.reason, $1.group.topic) > ($1.count, $0.group.reason, $0.group.topic)
    }
  }
}
