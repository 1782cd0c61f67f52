import Model

/// A segment that holds what another one left without an outcome.
package struct PlannedStragglers: Sendable, Equatable {
  package let id: String
  package let pushes: Int

  package init(_ segment: Segment) {
    id = segment.id
    pushes = segment.stragglers?.pushes.count ?? 0
  }
}
