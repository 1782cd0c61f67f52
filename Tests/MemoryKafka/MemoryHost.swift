import Kafka

/// What a host tells its clients of their connections.
protocol MemoryClient: AnyObject {
  var links: [MemoryLink] { get }
  func connectionLost()
  func connectionMade()
  /// Whoever waits for an answer gets an error: the host has crashed.
  func abandon()
}

/// A process that uses Kafka: its clients live and die with it.
///
/// `@unchecked Sendable`: all of a Kafka in memory is confined to the thread that runs the world.
package final class MemoryHost: @unchecked Sendable {
  package let name: String
  unowned let broker: MemoryBroker
  /// Ms since 1970 by this host's clock, which stamps its records; nil: as the broker's.
  package var wallClock: (() -> Int64)?
  private(set) var clients: [any MemoryClient] = []
  package private(set) var isFrozen = false
  package private(set) var isCrashed = false
  package private(set) var isCut = false
  /// What happened while the host was frozen.
  private var parked: [() -> Void] = []
  private var abandoned: [any MemoryClient] = []

  init(name: String, broker: MemoryBroker) {
    self.name = name
    self.broker = broker
  }

  /// Makes this host's clients.
  package var kafka: KafkaClients {
    KafkaClients(
      consumer: { (options, topics, log) throws(KafkaError) in
        self.consumer(options, topics: topics)
      },
      producer: { (options, log) throws(KafkaError) in self.producer(options) })
  }

  package func consumer(_ options: KafkaOptions, topics: [String]) -> MemoryConsumer {
    let consumer = MemoryConsumer(self, options, topics: topics)
    add(consumer)
    return consumer
  }

  package func producer(_ options: KafkaOptions) -> MemoryProducer {
    let producer = MemoryProducer(self, options)
    add(producer)
    return producer
  }

  private func add(_ client: any MemoryClient) {
    clients.append(client)
    if isReachable { client.connectionMade() } else { later(.connect) { client.connectionLost() } }
  }

  /// Records that its consumers have given out and that their groups have not committed.
  package var readAhead: Int64 {
    clients.reduce(0) { $0 + (($1 as? MemoryConsumer)?.uncommitted ?? 0) }
  }

  func remove(_ client: any MemoryClient) { clients.removeAll { $0 === client } }

  var isReachable: Bool { !isCut && !isCrashed && !broker.isAway }

  // MARK: faults

  /// Stops the process (SIGSTOP): none of its timers run and no answer reaches it until `thaw`.
  package func freeze() { isFrozen = true }

  /// What would have happened meanwhile happens now, in order.
  package func thaw() {
    isFrozen = false
    while !parked.isEmpty, !isFrozen { parked.removeFirst()() }
  }

  /// Ends the process without a word (SIGKILL): what it has sent arrives, and nobody is answered.
  package func crash() {
    isCrashed = true
    parked = []
    abandoned = clients
    clients = []
  }

  /// Gives an error to all that wait in clients of a host that has crashed, so that their tasks can
  /// end. Without this they wait for ever.
  package func endAbandoned() {
    for client in abandoned {
      for link in client.links { link.drop() }
      client.abandon()
    }
    abandoned = []
  }

  /// Cuts the host off from Kafka, whose groups miss its heartbeats; `mend` connects it again.
  package func cut() {
    guard !isCut else { return }
    isCut = true
    if !broker.isAway { disconnect() }
  }

  package func mend() {
    guard isCut else { return }
    isCut = false
    connect()
  }

  /// Makes its producers of no more use.
  package func failProducers() {
    for case let producer as MemoryProducer in clients { producer.failForGood() }
  }

  /// Breaks the connections; clients make new ones.
  package func breakConnections() {
    guard isReachable else { return }
    disconnect()
    connect()
  }

  func disconnect() {
    for client in clients {
      for link in client.links { link.disconnect() }
      perform {
        // What the client has sent since, before it noticed, is lost, too.
        for link in client.links { link.disconnect() }
        client.connectionLost()
      }
    }
  }

  func connect() {
    for client in clients {
      later(.connect) { [weak self] in
        if self?.isReachable == true { client.connectionMade() }
      }
    }
  }

  // MARK: the process' own time

  func perform(_ body: @escaping () -> Void) {
    guard !isCrashed else { return }
    if isFrozen { parked.append(body) } else { body() }
  }

  func schedule(after delay: Duration, _ body: @escaping () -> Void) {
    broker.time.schedule(delay) { [weak self] in self?.perform(body) }
  }

  func later(_ request: MemoryRequest, _ body: @escaping () -> Void) {
    schedule(after: broker.delay(request), body)
  }

  func end() {
    abandoned += clients
    clients = []
    endAbandoned()
    parked = []
  }
}
