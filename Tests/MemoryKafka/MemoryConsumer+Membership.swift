import Kafka

/// Joining, heartbeats, rebalances: what librdkafka does on a thread of its own.
extension MemoryConsumer {
  /// Topics and partitions that are made later are noticed after this long
  /// (topic.metadata.refresh.interval.ms).
  private static let metadataInterval = Duration.seconds(10)

  private var session: Duration { options.sessionTimeout }
  private var pollInterval: Duration { max(options.pollIntervalMaximum, session) }
  private var identity: MemberIdentity {
    MemberIdentity(member: member, instance: options.staticMember, generation: generation)
  }

  package func subscribe() throws(KafkaError) {
    try checkOpen("subscribing to \(topics)")
    isSubscribed = true
    lastPoll = now
    if !hasTimers {
      hasTimers = true
      repeats(every: min(options.heartbeatInterval, session / 3)) { $0.beat() }
      repeats(every: Self.metadataInterval) { $0.refreshMetadata() }
    }
    if membership == .outside { join() }
  }

  package func unsubscribe() {
    guard !isClosed, isSubscribed else { return }
    isSubscribed = false
    leavesWhenUnassigned = true
    switch membership {
    case .outside: return
    case .joining: unassigned()
    case .steady: revokeAll(isLost: false)
    // What is given is taken away once `poll` has said so.
    case .assigning, .revoking: return
    }
  }

  // MARK: joining

  func join() {
    guard isSubscribed, !isFenced, !isClosed, !hasPolledTooLate else {
      membership = .outside
      return
    }
    membership = .joining
    if isConnected { sendJoin() }
  }

  func sendJoin() {
    learnMetadata()
    // A broker gives a new member its name before it lets it in.
    if member.isEmpty, options.staticMember == nil { member = group.newMember(host.name) }
    let request = JoinRequest(
      host: host.name, member: member, instance: options.staticMember, topics: Set(topics),
      session: session, rebalance: pollInterval)
    joins += 1
    coordinator.ask(.join) { [broker, group, host] (answer: @escaping (JoinAnswer) -> Void) in
      if let failure = broker.takeFault(.join, host) { return answer(.refused(failure)) }
      group.join(request, answer)
    } then: { [weak self, joins] answer in
      // An earlier request's answer says nothing of this membership.
      guard let self, let answer, membership == .joining, joins == self.joins else { return }
      joined(answer)
    }
  }

  private func joined(_ answer: JoinAnswer) {
    switch answer {
    case .joined(let member, let generation, let partitions):
      self.member = member
      self.generation = generation
      groupAssignment = partitions
      sessionEnd = now &+ session.wholeNanoseconds
      membership = .assigning
      enqueue(.assign(partitions))
    case .refused(let failure):
      refused(failure)
      guard failure != .fencedInstance else {
        membership = .outside
        return
      }
      if !failure.isTriedAgain, failure != .unknownMember, failure != .rebalanceInProgress {
        enqueue(.other(.error(failure.error(doing: "joining the group"))))
      }
      host.schedule(after: .milliseconds(100)) { [weak self] in
        guard let self, membership == .joining, isConnected else { return }
        sendJoin()
      }
    }
  }

  /// What an answer says of our membership.
  private func refused(_ failure: MemoryFailure) {
    switch failure {
    case .unknownMember: member = ""
    case .illegalGeneration: generation = -1
    case .fencedInstance: return becomeFenced()
    default: return
    }
    revokeAll(isLost: true)
  }

  /// librdkafka takes the partitions away without a word: the error is the last thing that `poll`
  /// says of the group.
  private func becomeFenced() {
    guard !isFenced else { return }
    isFenced = true
    isLost = true
    membership = .outside
    queue.removeAll { if case .assign = $0 { true } else { false } }
    forget(assignment.sorted())
    let reason = "Broker: Static consumer fenced by other consumer with same group.instance.id"
    enqueue(
      .other(
        .error(
          KafkaError(
            .fatal, doing: "reading", name: "_FATAL", text: "Fatal error: \(reason)"))))
  }

  // MARK: heartbeats

  private func beat() {
    if now > lastPoll &+ pollInterval.wholeNanoseconds { pollsTooLate() }
    failDeferred()
    guard [.steady, .assigning, .revoking].contains(membership), !hasPolledTooLate else { return }
    if now > sessionEnd { return sessionIsOver() }
    guard isConnected, !isBeating else { return }
    isBeating = true
    let identity = identity
    coordinator.ask(.heartbeat) { [broker, group, host] (answer: (MemoryFailure?) -> Void) in
      answer(broker.takeFault(.heartbeat, host) ?? group.heartbeat(identity))
    } then: { [weak self] answer in
      self?.isBeating = false
      if let answer { self?.hasBeaten(answer) }
    }
  }

  private func hasBeaten(_ failure: MemoryFailure?) {
    switch failure {
    case nil: sessionEnd = now &+ session.wholeNanoseconds
    case .rebalanceInProgress:
      sessionEnd = now &+ session.wholeNanoseconds
      revokeAll(isLost: false)
    case let failure?: refused(failure)
    }
  }

  private func sessionIsOver() {
    broker.say("\(host.name): its session is over")
    sessionEnd = .max
    member = ""
    revokeAll(isLost: true)
  }

  private func pollsTooLate() {
    guard !hasPolledTooLate, membership != .outside, membership != .joining else { return }
    hasPolledTooLate = true
    enqueue(
      .other(
        .error(
          KafkaError(
            .rebalanced, doing: "reading", name: "_MAX_POLL_EXCEEDED",
            text: "Application maximum poll interval exceeded"))))
    if options.staticMember == nil { leave() }
    member = ""
    revokeAll(isLost: true)
  }

  func hasPolled() {
    lastPoll = now
    guard hasPolledTooLate else { return }
    hasPolledTooLate = false
    if membership == .outside { join() }
  }

  // MARK: metadata

  /// Returns whether it differs from what was known.
  @discardableResult
  private func learnMetadata() -> Bool {
    let known = topics.reduce(into: [String: Int]()) { $0[$1] = broker.partitions(of: $1) }
    let missing = Set(topics).subtracting(known.keys)
    for topic in missing.subtracting(missingTopics).sorted() {
      enqueue(
        .other(.error(MemoryFailure.unknownTopic.error(doing: "reading \(topic)"))))
    }
    missingTopics = missing
    defer { metadata = known }
    return known != metadata
  }

  private func refreshMetadata() {
    guard isConnected, isSubscribed, membership == .steady else { return }
    // What was missing for the fetches may be there by now.
    for partition in readings.keys { readings[partition]?.isMissing = false }
    if learnMetadata() { revokeAll(isLost: false) }
    fetch()
  }

  // MARK: rebalance

  /// Has `poll` give up what the group gave us, unless a rebalance goes on.
  private func revokeAll(isLost: Bool) {
    guard membership == .steady else { return }
    guard !groupAssignment.isEmpty else { return unassigned() }
    self.isLost = isLost
    membership = .revoking
    enqueue(.revoke)
  }

  func take(_ partitions: [KafkaPartition]) {
    let committed = readCommitted()
    for partition in partitions {
      positions.assigned(partition, committed: committed?[partition])
      lastEpoch += 1
      readings[partition] = PartitionReading(epoch: lastEpoch, isKnown: committed != nil)
      readings[partition]?.committed = committed?[partition]
    }
    assignment.formUnion(partitions)
    recorded.append(.assigned(partitions.sorted()))
    membership = .steady
    fetch()
    if !isSubscribed { revokeAll(isLost: false) }
  }

  /// Nil when nobody answers.
  func readCommitted() -> [KafkaPartition: Int64]? {
    guard isConnected, broker.takeFault(.committed, host) == nil else { return nil }
    return group.committed
  }

  func beginRevoke() {
    if asksBeforeRevoke, !isLost, !groupAssignment.isEmpty {
      revoking = groupAssignment
      recorded.append(.revoking(revoking.sorted()))
    } else {
      giveUp(groupAssignment)
    }
  }

  package func giveUpRevoked() {
    guard !isClosed, !revoking.isEmpty else { return }
    giveUp(revoking)
  }

  /// Commits what may be committed and unassigns.
  func giveUp(_ partitions: [KafkaPartition]) {
    revoking = []
    let wasLost = isLost
    if !wasLost { commitBeforeRevoke(partitions) }
    forget(partitions)
    paused.subtract(partitions)
    assignment.subtract(partitions)
    positions.revoked(partitions)
    let sorted = partitions.sorted()
    recorded.append(wasLost ? .lost(sorted) : .revoked(sorted))
    unassigned()
  }

  private func unassigned() {
    groupAssignment = []
    isLost = false
    if leavesWhenUnassigned { leave() }
    leavesWhenUnassigned = false
    join()
  }

  func leave() {
    defer { member = "" }
    guard isConnected, !member.isEmpty else { return }
    coordinator.ask(.leave) { [group, member] (answer: (Bool) -> Void) in
      group.leave(member)
      answer(true)
    } then: { (_: Bool?) in
    }
  }
}

// MARK: - Commits

extension MemoryConsumer {
  private static let notOurs = KafkaError(
    code: .rebalanced, message: "committing offsets: the partition is another member's now")
  private static let doing = "committing offsets"
  private static let revokeCommitTimeout = Duration.seconds(2)

  package func commit(_ offsets: [KafkaPartition: Int64]) {
    guard !isClosed else { return }
    let ours = ours(offsets)
    let others = offsets.filter { ours[$0.key] == nil }
    broker.strayCommits += others.keys.count { !assignment.contains($0) }
    if !others.isEmpty { recorded.append(.commitFailed(others, Self.notOurs)) }
    guard !ours.isEmpty else { return }
    send(ours, until: now &+ session.wholeNanoseconds)
  }

  package func commitNow(
    _ offsets: [KafkaPartition: Int64], timeout: Duration
  ) throws(KafkaError) {
    guard !offsets.isEmpty else { return }
    try checkOpen(Self.doing)
    let ours = ours(offsets)
    if !ours.isEmpty, let failure = commitAndWait(ours, timeout) {
      throw failure.error(doing: Self.doing)
    }
    if ours.count < offsets.count { throw Self.notOurs }
  }

  private func ours(_ offsets: [KafkaPartition: Int64]) -> [KafkaPartition: Int64] {
    isLost ? [:] : offsets.filter { assignment.contains($0.key) }
  }

  private func commitBeforeRevoke(_ partitions: [KafkaPartition]) {
    let offsets = ours(offsetsToCommitOnRevoke?(partitions) ?? [:])
    guard !offsets.isEmpty else { return }
    if let failure = commitAndWait(offsets, Self.revokeCommitTimeout) {
      recorded.append(.commitFailed(offsets, failure.error(doing: Self.doing)))
    } else {
      recorded.append(.committed(offsets))
    }
  }

  /// Time does not pass meanwhile: an answer that would come too late does not come.
  private func commitAndWait(
    _ offsets: [KafkaPartition: Int64], _ timeout: Duration
  ) -> MemoryFailure? {
    guard isConnected else { return .unanswered(isDone: false) }
    coordinator.flush()
    var failure = broker.takeFault(.commit, host)
    while failure?.isTriedAgain == true { failure = broker.takeFault(.commit, host) }
    if failure == nil, broker.delay(.commit) + broker.delay(.commit) > timeout {
      failure = .unanswered(isDone: broker.time.coin())
    }
    let result = perform(offsets, failure)
    if let result { refused(result) }
    return result
  }

  private func perform(
    _ offsets: [KafkaPartition: Int64], _ failure: MemoryFailure?
  ) -> MemoryFailure? {
    Self.perform(offsets, failure, group, identity)
  }

  private static func perform(
    _ offsets: [KafkaPartition: Int64], _ failure: MemoryFailure?, _ group: MemoryGroup,
    _ identity: MemberIdentity
  ) -> MemoryFailure? {
    guard let failure else { return group.commit(offsets, identity) }
    if failure == .unanswered(isDone: true) { _ = group.commit(offsets, identity) }
    return failure
  }

  /// - Parameter until: a coordinator that is away is waited for.
  private func send(_ offsets: [KafkaPartition: Int64], until: UInt64) {
    guard isConnected else { return deferred.append((offsets, until)) }
    let identity = identity
    coordinator.ask(.commit) { [broker, group, host] (answer: (MemoryFailure?) -> Void) in
      answer(Self.perform(offsets, broker.takeFault(.commit, host), group, identity))
    } then: { [weak self] answer in
      self?.hasCommitted(offsets, answer, until)
    }
  }

  private func hasCommitted(
    _ offsets: [KafkaPartition: Int64], _ answer: MemoryFailure??, _ until: UInt64
  ) {
    switch answer {
    case .some(nil): enqueue(.other(.committed(offsets)))
    case .some(let failure?) where !failure.isTriedAgain:
      refused(failure)
      enqueue(.other(.commitFailed(offsets, failure.error(doing: Self.doing))))
    default:
      // The connection broke, or the coordinator is not there yet.
      deferred.append((offsets, until))
      host.schedule(after: .milliseconds(100)) { [weak self] in self?.sendDeferred() }
    }
  }

  func sendDeferred() {
    guard isConnected, !isClosed else { return }
    let waiting = deferred
    deferred = []
    for commit in waiting { send(commit.offsets, until: commit.until) }
  }

  private func failDeferred() {
    let late = deferred.filter { $0.until <= now }
    deferred.removeAll { $0.until <= now }
    for commit in late {
      let error = MemoryFailure.coordinatorNotAvailable.error(doing: Self.doing)
      enqueue(.other(.commitFailed(commit.offsets, error)))
    }
  }
}
