/// How many ordinary connections there are (`ConnectionGrowth`).
extension ConnectionPool {
  /// Called now and then, when all is handed out that may go.
  func resize(at now: UInt64) {
    guard growth.least < growth.most, isStarted, !waiting.isLeaving else { return }
    let before = growth.wanted
    growth.look(need(at: now), at: now)
    guard growth.wanted != before else { return }
    let place = min(before, growth.wanted)
    if growth.wanted < before { places[place].connection?.retire("not needed any more") }
    // Of one that is not needed, no other comes.
    open(place)
    reportSize()
  }

  func reportSize() {
    options.report(.resized(setup.target.endpoint, connections: growth.wanted))
  }

  private func need(at now: UInt64) -> ConnectionGrowth.Need {
    let open = places[ordinaryPlaces].compactMap(\.connection).filter { $0.phase == .open }
    guard !topics.waitForStreams else {
      let areFull = open.count == growth.wanted && open.allSatisfy(\.isFull)
      return areFull && traffic.isInOrder(at: now) ? .more : .asMany
    }
    let inFlight = open.reduce(0) { $0 + $1.inFlight }
    let streams = places[ordinaryPlaces.dropLast()].reduce(0) { $0 + ($1.connection?.streams ?? 0) }
    return streams > 0 && inFlight <= streams / 2 ? .fewer : .asMany
  }
}
