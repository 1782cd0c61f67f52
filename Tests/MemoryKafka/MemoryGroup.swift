import Kafka

struct JoinRequest {
  let host: String
  /// Empty: a static member that begins.
  let member: String
  let instance: String?
  let topics: Set<String>
  let session: Duration
  /// How long the group waits for this member when it hands its partitions out again.
  let rebalance: Duration
}

enum JoinAnswer {
  case joined(member: String, generation: Int, [KafkaPartition])
  case refused(MemoryFailure)
}

/// What a client says it is, with each request to its group.
struct MemberIdentity {
  let member: String
  let instance: String?
  let generation: Int
}

/// A group's coordinator: members, generations, eager rebalances with the assignor `range`, static
/// members (KIP-345), sessions, committed offsets.
final class MemoryGroup {
  struct Member {
    var id: String
    let instance: String?
    let host: String
    var topics: Set<String>
    let session: Duration
    let rebalance: Duration
    /// When its session ends unless it is heard of.
    var deadline: UInt64
    /// It waits for the group to be complete.
    var join: ((JoinAnswer) -> Void)?
    var assignment: [KafkaPartition] = []
  }

  enum State { case empty, preparing, stable }

  let name: String
  private unowned let broker: MemoryBroker
  private(set) var members: [Member] = []
  private(set) var state = State.empty
  private(set) var generation = 0
  var committed: [KafkaPartition: Int64] = [:]
  private var leader: String?
  /// Of the rebalance that goes on.
  private var completesFrom: UInt64 = 0
  private var completesAt: UInt64 = 0
  private var nextSweep: UInt64?

  init(name: String, broker: MemoryBroker) {
    self.name = name
    self.broker = broker
  }

  private var now: UInt64 { broker.time.now() }

  // MARK: requests

  func join(_ request: JoinRequest, _ answer: @escaping (JoinAnswer) -> Void) {
    let index = members.firstIndex {
      request.instance == nil ? $0.id == request.member : $0.instance == request.instance
    }
    guard let index else { return add(request, answer) }
    if request.instance != nil, request.member != members[index].id {
      guard request.member.isEmpty else { return answer(.refused(.fencedInstance)) }
      return replace(index, request, answer)
    }
    if state == .stable, members[index].topics == request.topics, members[index].id != leader {
      return confirm(index, answer)
    }
    rejoin(index, request, answer)
  }

  func heartbeat(_ identity: MemberIdentity) -> MemoryFailure? {
    if let failure = flaw(in: identity) { return failure }
    renew(identity)
    return state == .preparing ? .rebalanceInProgress : nil
  }

  /// As a broker takes them: of any partition, from any member. A group without members takes them
  /// from anybody who names no generation.
  func commit(_ offsets: [KafkaPartition: Int64], _ identity: MemberIdentity) -> MemoryFailure? {
    if !(identity.generation < 0 && members.isEmpty) {
      if let failure = flaw(in: identity) { return failure }
      renew(identity)
    }
    committed.merge(offsets) { $1 }
    broker.whenCommitted?(offsets)
    return nil
  }

  func leave(_ member: String) { remove("left") { $0.id == member } }

  private func flaw(in identity: MemberIdentity) -> MemoryFailure? {
    if let instance = identity.instance,
      let known = members.first(where: { $0.instance == instance }), known.id != identity.member
    {
      return .fencedInstance
    }
    guard members.contains(where: { $0.id == identity.member }) else { return .unknownMember }
    return identity.generation == generation ? nil : .illegalGeneration
  }

  private func renew(_ identity: MemberIdentity) {
    guard let index = members.firstIndex(where: { $0.id == identity.member }) else { return }
    members[index].deadline = now &+ members[index].session.wholeNanoseconds
  }

  // MARK: members

  private func add(_ request: JoinRequest, _ answer: @escaping (JoinAnswer) -> Void) {
    let id = request.member.isEmpty ? newMember(request.host) : request.member
    let wasEmpty = members.isEmpty
    members.append(
      Member(
        id: id, instance: request.instance, host: request.host, topics: request.topics,
        session: request.session, rebalance: request.rebalance,
        deadline: now &+ request.session.wholeNanoseconds, join: answer))
    if wasEmpty { state = .empty }
    prepare("\(request.host) joins")
  }

  /// The next name of a member: in an order of its own, as those of brokers are.
  func newMember(_ host: String) -> String {
    "\(host)-" + String(broker.time.random(), radix: 16)
  }

  private func rejoin(
    _ index: Int, _ request: JoinRequest, _ answer: @escaping (JoinAnswer) -> Void
  ) {
    members[index].topics = request.topics
    members[index].join = answer
    if state == .preparing { completeWhenAllHaveJoined() } else { prepare("a member joins again") }
  }

  /// The client of a static member has begun again: it gets what the earlier one had, and the group
  /// does not notice, unless it is being handed out.
  private func replace(
    _ index: Int, _ request: JoinRequest, _ answer: @escaping (JoinAnswer) -> Void
  ) {
    let earlier = members[index]
    let id = newMember(request.host)
    members[index] = Member(
      id: id, instance: request.instance, host: request.host, topics: request.topics,
      session: request.session, rebalance: request.rebalance,
      deadline: now &+ request.session.wholeNanoseconds, assignment: earlier.assignment)
    if leader == earlier.id { leader = id }
    broker.say("group \(name): \(earlier.instance ?? "") is \(request.host)'s now")
    earlier.join?(.refused(.fencedInstance))
    if state == .stable, earlier.topics == request.topics { return confirm(index, answer) }
    rejoin(index, request, answer)
  }

  private func confirm(_ index: Int, _ answer: (JoinAnswer) -> Void) {
    let member = members[index]
    members[index].deadline = now &+ member.session.wholeNanoseconds
    sweepLater()
    answer(.joined(member: member.id, generation: generation, member.assignment))
  }

  func fence(_ instance: String) {
    guard let index = members.firstIndex(where: { $0.instance == instance }) else { return }
    let id = newMember("fencer")
    if leader == members[index].id { leader = id }
    members[index].id = id
    members[index].join?(.refused(.fencedInstance))
    members[index].join = nil
    broker.say("group \(name): \(instance) is fenced")
  }

  func remove(_ why: String, _ isConcerned: (Member) -> Bool) {
    let gone = members.filter(isConcerned)
    guard !gone.isEmpty else { return }
    members.removeAll(where: isConcerned)
    for member in gone {
      broker.say("group \(name): \(member.host) \(why)")
      member.join?(.refused(.unknownMember))
    }
    if state == .preparing { completeWhenAllHaveJoined() } else { prepare("a member \(why)") }
  }

  // MARK: rebalance

  func prepare(_ why: String) {
    guard state != .preparing else { return completeWhenAllHaveJoined() }
    guard !members.isEmpty else { return becomeEmpty() }
    broker.say("group \(name): rebalance: \(why)")
    completesFrom =
      state == .empty ? now &+ broker.options.initialRebalanceDelay.wholeNanoseconds : now
    state = .preparing
    waitForMembers()
  }

  private func waitForMembers() {
    let longest = members.map(\.rebalance.wholeNanoseconds).max() ?? 0
    completesAt = max(completesFrom, now &+ longest)
    for due in [completesFrom, completesAt] {
      broker.time.schedule(at: due) { [weak self] in self?.completeWhenAllHaveJoined() }
    }
  }

  private func completeWhenAllHaveJoined() {
    guard state == .preparing, broker.sessionsRun, now >= completesFrom else { return }
    guard now >= completesAt || members.allSatisfy({ $0.join != nil }) else { return }
    complete()
  }

  /// Who has not come is no member any more; a static one is, until its session ends.
  private func complete() {
    members.removeAll { $0.join == nil && $0.instance == nil }
    generation += 1
    guard !members.isEmpty else { return becomeEmpty() }
    state = .stable
    if !members.contains(where: { $0.id == leader && $0.join != nil }) {
      leader = members.first { $0.join != nil }?.id
    }
    assign()
    broker.say("group \(name): generation \(generation): \(members.map(\.host))")
    for index in members.indices {
      guard let join = members[index].join else { continue }
      members[index].join = nil
      members[index].deadline = now &+ members[index].session.wholeNanoseconds
      join(
        .joined(
          member: members[index].id, generation: generation, members[index].assignment))
    }
    sweepLater()
  }

  private func becomeEmpty() {
    state = .empty
    leader = nil
  }

  /// The assignor `range`, as librdkafka has it: static members by their names, others by ids.
  private func assign() {
    let order = members.indices.sorted { left, right in
      if let one = members[left].instance, let other = members[right].instance {
        return one < other
      }
      return members[left].id < members[right].id
    }
    for index in order { members[index].assignment = [] }
    for topic in members.reduce(into: Set<String>(), { $0.formUnion($1.topics) }).sorted() {
      let takers = order.filter { members[$0].topics.contains(topic) }
      let count = broker.partitions(of: topic) ?? 0
      var next = 0
      for (rank, index) in takers.enumerated() {
        let share = count / takers.count + (rank < count % takers.count ? 1 : 0)
        members[index].assignment += (next..<next + share).map {
          KafkaPartition(topic: topic, partition: Int32($0))
        }
        next += share
      }
    }
  }

  // MARK: sessions

  /// A broker that has begun again gives each member a session from now on.
  func kafkaIsBack() {
    for index in members.indices {
      members[index].deadline = now &+ members[index].session.wholeNanoseconds
    }
    if state == .preparing { waitForMembers() }
    sweepLater()
  }

  func forget(_ topic: String) { committed = committed.filter { $0.key.topic != topic } }

  private func sweepLater() {
    let due = members.filter { $0.join == nil }.map(\.deadline).min()
    guard let due, due < nextSweep ?? .max else { return }
    nextSweep = due
    broker.time.schedule(at: due) { [weak self] in
      guard let self, nextSweep == due else { return }
      nextSweep = nil
      sweep()
    }
  }

  private func sweep() {
    guard broker.sessionsRun else { return }
    let now = now
    remove("has timed out") { $0.join == nil && $0.deadline <= now }
    sweepLater()
  }
}
