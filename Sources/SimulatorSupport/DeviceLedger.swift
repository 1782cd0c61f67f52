/// The counts of each device that was asked for, by its token or the address of its subscription:
/// the oracle of tests. Confined to its simulator's loop.
package final class DeviceLedger {
  package struct Entry {
    /// Of the first request, in microseconds since 1970.
    package let firstArrival: Int64
    package var requests: UInt32 = 0
    package var accepted: UInt32 = 0
    /// 0: no answer with a status yet.
    package var lastStatus: UInt16 = 0
    /// The number of its last body, from 1 on.
    var lastBody = 0

    package init(firstArrival: Int64 = 0) { self.firstArrival = firstArrival }
  }

  private var places: [[UInt8]: Int] = [:]
  private var entries: [Entry] = []
  /// In the order of `entries`.
  private var tokens: [[UInt8]] = []
  /// The last bodies, a ring by their numbers.
  private var bodies: [[UInt8]]
  private var bodyCount = 0

  /// - Parameter keptBodies: of so many of the last requests.
  package init(keptBodies: Int) { bodies = Array(repeating: [], count: max(keptBodies, 1)) }

  package var count: Int { entries.count }

  package subscript(place: Int) -> Entry {
    get { entries[place] }
    set { entries[place] = newValue }
  }

  /// The place of a token's entry, which is made when there is none.
  /// - Parameter arrival: of the request, in microseconds since 1970.
  package func place(of token: [UInt8], arrival: Int64) -> Int {
    if let known = places[token] { return known }
    places[token] = entries.count
    entries.append(Entry(firstArrival: arrival))
    tokens.append(token)
    return entries.count - 1
  }

  package func token(at place: Int) -> [UInt8] { tokens[place] }

  package func removeAll() {
    places = [:]
    entries = []
    tokens = []
    bodies = Array(repeating: [], count: bodies.count)
    bodyCount = 0
  }

  package func find(_ token: [UInt8]) -> Entry? { places[token].map { entries[$0] } }

  package func keep(_ body: [UInt8], at place: Int) {
    bodies[bodyCount % bodies.count] = body
    bodyCount += 1
    entries[place].lastBody = bodyCount
  }

  /// The last body for a token; nil when there was none, or it is too long ago.
  package func body(of token: [UInt8]) -> [UInt8]? {
    guard let number = find(token)?.lastBody, number > 0, bodyCount - number < bodies.count else {
      return nil
    }
    return bodies[(number - 1) % bodies.count]
  }
}
