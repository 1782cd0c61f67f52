/// The counts of each registration token that was asked for: the oracle of tests.
final class DeviceLedger {
  struct Entry {
    /// Microseconds since 1970.
    let firstArrival: Int64
    var requests: UInt32 = 0
    var accepted: UInt32 = 0
    /// 0: no answer with a status yet.
    var lastStatus: UInt16 = 0
    /// The number of its last body, from 1 on.
    var lastBody = 0
  }

  private var places: [[UInt8]: Int] = [:]
  private var entries: [Entry] = []
  /// In the order of `entries`.
  private var tokens: [[UInt8]] = []
  /// The last bodies, a ring by their numbers.
  private var bodies: [[UInt8]]
  private var bodyCount = 0

  /// - Parameter keptBodies: of so many of the last requests.
  init(keptBodies: Int) { bodies = Array(repeating: [], count: max(keptBodies, 1)) }

  var count: Int { entries.count }

  subscript(place: Int) -> Entry {
    get { entries[place] }
    set { entries[place] = newValue }
  }

  /// The place of a token's entry, which is made when there is none.
  /// - Parameter arrival: of the request, in microseconds since 1970.
  func place(of token: [UInt8], arrival: Int64) -> Int {
    if let known = places[token] { return known }
    places[token] = entries.count
    entries.append(Entry(firstArrival: arrival))
    tokens.append(token)
    return entries.count - 1
  }

  func token(at place: Int) -> [UInt8] { tokens[place] }

  func removeAll() {
    places = [:]
    entries = []
    tokens = []
    bodies = Array(repeating: [], count: bodies.count)
    bodyCount = 0
  }

  func find(_ token: [UInt8]) -> Entry? { places[token].map { entries[$0] } }

  func keep(_ body: [UInt8], at place: Int) {
    bodies[bodyCount % bodies.count] = body
    bodyCount += 1
    entries[place].lastBody = bodyCount
  }

  /// The last body for a token; nil when there was none, or it is too long ago.
  func body(of token: [UInt8]) -> [UInt8]? {
    guard let number = find(token)?.lastBody, number > 0, bodyCount - number < bodies.count else {
      return nil
    }
    return bodies[(number - 1) % bodies.count]
  }
}
