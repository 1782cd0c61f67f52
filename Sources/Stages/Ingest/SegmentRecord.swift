import JSON
import Keyspace
import Model
import Text

/// A segment as a record of the segments or the stragglers topic: the event's own document and
/// which of its followers. Written and read by workers only. Its event was validated when it was
/// read first, and is again; only the clock is not asked twice, since workers' clocks differ.
package enum SegmentRecord {
  private static let members: Set<String> = [
    "event", "shard", "generation", "plain", "segments", "id", "parent", "stragglers", "plan",
    "part", "named", "wave",
  ]
  /// Another system's key with a streamer's id of at most 128 bytes in it.
  private static let maximumPlainKeyBytes = 512

  /// The key names event and segment, the shard last, so that a fan-out's segments go to the
  /// partitions by turns.
  package static func encode(_ segment: Segment) -> (key: [UInt8], value: [UInt8]) {
    var value = Array(#"{"event":"#.utf8) + segment.event.document
    switch segment.slice {
    case .shard(let index, let generation):
      value += Array(#","shard":\#(index),"generation":\#(generation)"#.utf8)
    case .plain(let key):
      value += Array(#","plain":\#(JSONString.quoted(key))"#.utf8)
    case .part(let index): value += Array(#","part":\#(index)"#.utf8)
    case .named: value += Array(#","named":true"#.utf8)
    case .stragglers(let list): value += StragglerRecord.members(list)
    }
    if let wave = segment.wave { value += Array(#","wave":\#(wave)"#.utf8) }
    value += Array(#","segments":\#(segment.count)}"#.utf8)
    return (Array("\(segment.event.id)/\(segment.id)".utf8), value)
  }

  package static func encode(_ plan: RemainingPlan) -> (key: [UInt8], value: [UInt8]) {
    let generation = plan.generation.map { #","generation":\#($0)"# } ?? ""
    let rest = #","plan":\#(plan.first)\#(generation),"segments":\#(plan.count)}"#
    let value = Array(#"{"event":"#.utf8) + plan.event.document + Array(rest.utf8)
    return (Array("\(plan.event.id)/plan.\(plan.first)".utf8), value)
  }

  /// The event that a segment's record is about, by its key; nil when somebody else has written it.
  package static func event(ofKey key: [UInt8]?) -> String? {
    guard let key, let slash = key.firstIndex(of: UInt8(ascii: "/")), slash > 0, slash <= 64
    else { return nil }
    return String(decoding: key[..<slash], as: UTF8.self)
  }

  static func decode(_ value: JSONValue, events: EventDecoder) throws(IngestError) -> IngestResult {
    guard let object = value.object, let inner = object["event"] else {
      throw IngestError(.badSegment, "a segment record is an object with an event")
    }
    for member in object.members where !members.contains(member.name) {
      throw IngestError(.unknownField, "a segment has no member \(Excerpt.quoted(member.name))")
    }
    let document = Array(JSONText.compact(inner).utf8)
    let event = try events.decode(inner, document: document)
    let count = try number(object, "segments", 1...Int64(Keyspace.maximumShards))
    if object["plan"] != nil {
      guard object["stragglers"] == nil, object["plain"] == nil, object["shard"] == nil else {
        throw IngestError(.badSegment, "a plan is no segment")
      }
      let last = max(count * Int64(event.waveCount) - 1, 1)
      let first = try number(object, "plan", 1...last)
      let generation =
        event.isSelective ? nil : Int(try number(object, "generation", 0...Int64(Int32.max)))
      return .plan(
        RemainingPlan(event: event, generation: generation, count: Int(count), first: Int(first)))
    }
    guard event.waveCount > 1 else {
      guard object["wave"] == nil else {
        throw IngestError(.badSegment, "only an event for a local hour has waves")
      }
      return .segment(try segment(object, event, count, nil))
    }
    let wave = Int(try number(object, "wave", 0...Int64(event.waveCount - 1)))
    return .segment(try segment(object, event.inWave(wave), count, wave))
  }

  private static func segment(
    _ object: JSONObject, _ event: Event, _ count: Int64, _ wave: Int?
  ) throws(IngestError) -> Segment {
    if object["stragglers"] != nil {
      guard object["plain"] == nil, object["shard"] == nil, object["generation"] == nil else {
        throw IngestError(.badSegment, "stragglers are a segment without a shard and a plain set")
      }
      let list = try StragglerRecord.decode(object)
      return Segment(event: event, slice: .stragglers(list), count: Int(count), wave: wave)
    }
    if event.isSelective {
      let index = try number(object, "part", 0...count - 1)
      return Segment(event: event, slice: .part(index: Int(index)), count: Int(count), wave: wave)
    }
    if case .users = event.audience {
      guard object["named"]?.bool == true, count == 1 else {
        throw IngestError(.badSegment, "users that an event names are one segment")
      }
      return Segment(event: event, slice: .named, count: 1, wave: wave)
    }
    if let plain = object["plain"] {
      guard let key = plain.string, isPlainKey(key) else {
        throw IngestError(
          .badSegment,
          "plain must be a key of 1 to \(maximumPlainKeyBytes) bytes without control characters")
      }
      guard count == 1, object["shard"] == nil, object["generation"] == nil else {
        throw IngestError(.badSegment, "a plain set is one segment without shard and generation")
      }
      return Segment(event: event, slice: .plain(key: key), count: 1, wave: wave)
    }
    let shard = try number(object, "shard", 0...count - 1)
    let generation = try number(object, "generation", 0...Int64(Int32.max))
    return Segment(
      event: event, slice: .shard(index: Int(shard), generation: Int(generation)),
      count: Int(count), wave: wave)
  }

  private static func isPlainKey(_ key: String) -> Bool {
    (1...maximumPlainKeyBytes).contains(key.utf8.count)
      && key.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
  }

  private static func number(
    _ object: JSONObject, _ name: String, _ range: ClosedRange<Int64>
  ) throws(IngestError) -> Int64 {
    guard let value = object[name]?.integer, range.contains(value) else {
      throw IngestError(
        .badSegment,
        "\(name) must be a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return value
  }
}

extension Event {
  /// Its segments are parts of what an expression selects.
  fileprivate var isSelective: Bool { if case .matching = audience { true } else { false } }
}
