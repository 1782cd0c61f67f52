import Checkout
import JSON
import Testing

/// One of docker/grafana, as far as tests look into it.
struct Dashboard: Sendable, CustomTestStringConvertible {
  struct Panel: Sendable {
    let json: JSONObject

    var title: String { json["title"]?.string ?? "" }
    var isRow: Bool { json["type"]?.string == "row" }
    var description: String { json["description"]?.string ?? "" }
    var targets: [JSONObject] { json["targets"]?.array?.compactMap(\.object) ?? [] }
    var expressions: [String] { targets.compactMap { $0["expr"]?.string } }

    /// The squares of the grid that it takes, of 24 a line.
    var squares: [[Int64]] {
      let place = json["gridPos"]?.object
      let numbers = ["x", "y", "w", "h"].compactMap { place?[$0]?.integer }
      guard numbers.count == 4 else { return [] }
      return (numbers[0]..<numbers[0] + numbers[2]).flatMap { x in
        (numbers[1]..<numbers[1] + numbers[3]).map { [x, $0] }
      }
    }
  }

  static let names = ["fanfare-fleet", "fanfare-fan-outs"]

  let name: String
  let text: String
  let json: JSONObject

  init(_ name: String) throws {
    self.name = name
    text = try Checkout.text("docker/grafana/\(name).json")
    json = try JSONValue.parse(Array(text.utf8)).object ?? JSONObject()
  }

  var testDescription: String { name }
  var panels: [Panel] { json["panels"]?.array?.compactMap { $0.object.map(Panel.init) } ?? [] }
  var shown: [Panel] { panels.filter { !$0.isRow } }
  var variables: [JSONObject] {
    json["templating"]?.object?["list"]?.array?.compactMap(\.object) ?? []
  }
}

extension JSONValue {
  /// Every value of a member of that name, however deep.
  func values(of name: String) -> [JSONValue] {
    switch self {
    case .array(let elements): elements.flatMap { $0.values(of: name) }
    case .object(let object):
      object.members.flatMap {
        ($0.name == name ? [$0.value] : []) + $0.value.values(of: name)
      }
    default: []
    }
  }
}

extension StringProtocol {
  /// What stands between two texts.
  func part(behind start: String, before end: String) throws -> SubSequence {
    let first = try #require(firstRange(of: start), "\(start)").upperBound
    let last = try #require(self[first...].firstRange(of: end), "\(end)").lowerBound
    return self[first..<last]
  }
}
