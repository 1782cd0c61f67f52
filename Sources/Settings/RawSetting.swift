import Text
import YAML

/// A value as it was written, before its key has said what it should be.
struct RawSetting {
  enum Content {
    /// Nothing is written: the default stays.
    case nothing
    case single(String)
    case list([RawSetting])
    case map([(name: String, value: RawSetting)])
  }

  let content: Content
  let source: SettingSource

  init(_ content: Content, _ source: SettingSource) {
    self.content = content
    self.source = source
  }

  init(_ node: YAMLNode, file: String) {
    source = .file(file, node.place)
    switch node.content {
    case .scalar(let text, _): content = node.isNull ? .nothing : .single(text)
    case .sequence(let nodes): content = .list(nodes.map { RawSetting($0, file: file) })
    case .mapping(let entries):
      content = .map(entries.map { ($0.key, RawSetting($0.value, file: file)) })
    }
  }

  var kindName: String {
    switch content {
    case .nothing: "nothing"
    case .single: "a single value"
    case .list: "a list"
    case .map: "a mapping"
    }
  }
}

extension SettingKind {
  /// Reads a value, or says everything that is wrong with it. Nil without a complaint means: not
  /// set.
  func read(
    _ raw: RawSetting, baseDirectory: String,
    complain: (SettingComplaint, SettingSource) -> Void
  ) -> SettingValue? {
    if case .nothing = raw.content { return nil }
    do throws(SettingComplaint) {
      switch self {
      case .list(let rule): return readList(raw, rule, complain)
      case .map(let rule): return readMap(raw, rule, complain)
      case .records(let fields): return readRecords(raw, fields, baseDirectory, complain)
      default: break
      }
      guard case .single(let text) = raw.content else {
        throw SettingComplaint("must be \(summary), is \(raw.kindName)")
      }
      return try readSingle(text, baseDirectory: baseDirectory)
    } catch {
      complain(error, raw.source)
      return nil
    }
  }

  private func readSingle(
    _ text: String, baseDirectory: String
  ) throws(SettingComplaint) -> SettingValue? {
    switch self {
    case .text(let rule):
      if let complaint = rule.complaint(about: text) { throw complaint }
      return .text(text)
    case .secret:
      return .text(try SecretText.checked(text))
    case .integer(let range):
      guard let number = Int(text) else {
        throw SettingComplaint("must be \(summary), is \(Shown.value(text))")
      }
      return .integer(try Self.within(range, number, text, String.init))
    case .size(let range):
      return .integer(try Self.within(range, try SizeText.parse(text), text, SizeText.text))
    case .duration(let range):
      let duration = try DurationText.setting(text)
      return .duration(try Self.within(range, duration, text, DurationText.text))
    case .bool:
      guard text == "true" || text == "false" else {
        throw SettingComplaint("must be true or false, is \(Shown.value(text))")
      }
      return .bool(text == "true")
    case .choice(let names):
      if names.contains(text) { return .text(text) }
      throw SettingComplaint(
        "must be \(summary), is \(Shown.value(text))",
        hint: NearestName.hint(for: text, among: names))
    case .path, .secretFile:
      if let complaint = TextRule.pathText.complaint(about: text) { throw complaint }
      return .text(Self.resolved(text, in: baseDirectory))
    case .list, .map, .records:
      return nil
    }
  }

  private func readList(
    _ raw: RawSetting, _ rule: TextRule, _ complain: (SettingComplaint, SettingSource) -> Void
  ) -> SettingValue? {
    let elements: [RawSetting]
    switch raw.content {
    case .list(let written): elements = written
    case .single(let text):
      elements = text.split(separator: ",").map {
        RawSetting(.single(String($0.trimmingSpaces)), raw.source)
      }
    default:
      complain(SettingComplaint("must be \(summary), is \(raw.kindName)"), raw.source)
      return nil
    }
    if elements.isEmpty { complain(SettingComplaint("must not be empty"), raw.source) }
    let items = elements.compactMap { element -> String? in
      guard case .single(let text) = element.content else {
        complain(
          SettingComplaint("must be \(rule.summary), is \(element.kindName)"), element.source)
        return nil
      }
      if let complaint = rule.complaint(about: text) {
        complain(complaint, element.source)
        return nil
      }
      return text
    }
    return items.isEmpty || items.count < elements.count ? nil : .list(items)
  }

  private func readMap(
    _ raw: RawSetting, _ rule: (String, String) -> SettingComplaint?,
    _ complain: (SettingComplaint, SettingSource) -> Void
  ) -> SettingValue? {
    guard let entries = entries(of: raw, complain) else { return nil }
    var values: [String: String] = [:]
    var isWhole = true
    for (name, value) in entries {
      guard case .single(let text) = value.content else {
        let message = "\(Shown.value(name)) must be a text, is \(value.kindName)"
        complain(SettingComplaint(message), value.source)
        isWhole = false
        continue
      }
      if let complaint = rule(name, text) {
        complain(complaint, value.source)
        isWhole = false
      }
      values[name] = text
    }
    return isWhole ? .map(values) : nil
  }

  private typealias Entry = (name: String, value: RawSetting)

  /// Of a mapping, or of the text that stands for one in a variable or flag.
  private func entries(
    of raw: RawSetting, _ complain: (SettingComplaint, SettingSource) -> Void
  ) -> [Entry]? {
    switch raw.content {
    case .map(let written): return written
    case .single(let text):
      var entries: [Entry] = []
      for part in text.split(separator: ",") {
        let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard pair.count == 2 else {
          complain(SettingComplaint("must be name=value, name=value, …"), raw.source)
          return nil
        }
        let value = RawSetting(.single(String(pair[1].trimmingSpaces)), raw.source)
        entries.append((String(pair[0].trimmingSpaces), value))
      }
      return entries
    default:
      complain(SettingComplaint("must be \(summary), is \(raw.kindName)"), raw.source)
      return nil
    }
  }

  private func readRecords(
    _ raw: RawSetting, _ fields: [String: SettingKind], _ baseDirectory: String,
    _ complain: (SettingComplaint, SettingSource) -> Void
  ) -> SettingValue? {
    guard let records = entries(of: raw, complain) else { return nil }
    var values: [String: String] = [:]
    var isWhole = true
    let entries = records.flatMap { name, value -> [Entry] in
      guard case .map(let written) = value.content, !written.isEmpty else { return [(name, value)] }
      return written.map { ("\(name).\($0.name)", $0.value) }
    }
    for (path, value) in entries {
      do throws(SettingComplaint) {
        values[path] = try readField(path, value, fields, baseDirectory)
      } catch {
        complain(error, value.source)
        isWhole = false
      }
    }
    return isWhole ? .map(values) : nil
  }

  /// - Parameter path: `<name>.<field>`; a bundle id has dots itself.
  private func readField(
    _ path: String, _ raw: RawSetting, _ fields: [String: SettingKind], _ baseDirectory: String
  ) throws(SettingComplaint) -> String {
    let dot = path.lastIndex(of: ".")
    let field = dot.map { String(path[path.index(after: $0)...]) } ?? path
    guard let dot, let kind = fields[field] else {
      throw SettingComplaint(
        "\(Shown.value(path)) must end with one of \(fields.keys.sorted().joined(separator: ", "))",
        hint: NearestName.hint(for: field, among: fields.keys.sorted()))
    }
    let name = String(path[..<dot])
    if let complaint = TextRule.app.complaint(about: name) {
      throw SettingComplaint("\(Shown.value(name)) \(complaint.message)", hint: complaint.hint)
    }
    var complaint: SettingComplaint?
    let value = kind.read(raw, baseDirectory: baseDirectory) { found, _ in
      complaint = complaint ?? found
    }
    if let complaint {
      throw SettingComplaint("\(Shown.value(path)) \(complaint.message)", hint: complaint.hint)
    }
    switch value {
    case .text(let text): return text
    case .integer(let number): return String(number)
    case .bool(let flag): return flag ? "true" : "false"
    case .list(let items): return items.joined(separator: "\n")
    case .duration, .map, nil:
      throw SettingComplaint("\(Shown.value(path)) must be \(kind.summary), is \(raw.kindName)")
    }
  }

  private static func within<Value: Comparable>(
    _ range: ClosedRange<Value>, _ value: Value, _ text: String, _ show: (Value) -> String
  ) throws(SettingComplaint) -> Value {
    guard range.contains(value) else {
      let least = show(range.lowerBound)
      throw SettingComplaint(
        value < range.lowerBound
          ? "must be at least \(least), is \(Shown.value(text))"
          : "must be at most \(show(range.upperBound)), is \(Shown.value(text))")
    }
    return value
  }

  static func resolved(_ path: String, in directory: String) -> String {
    if path.hasPrefix("/") || directory.isEmpty || directory == "." { return path }
    return directory.hasSuffix("/") ? directory + path : "\(directory)/\(path)"
  }
}

extension TextRule {
  static let pathText = TextRule("the path of a file or directory", maximumBytes: 4_095)
}

extension Substring {
  var trimmingSpaces: Substring {
    let start = firstIndex { $0 != " " } ?? endIndex
    let end = lastIndex { $0 != " " }.map { index(after: $0) } ?? start
    return self[start..<end]
  }
}

/// Which known name somebody who mistyped one may have meant.
enum NearestName {
  /// `did you mean x?`, or nil when nothing is near.
  static func hint(for name: String, among known: [String]) -> String? {
    nearest(to: name, among: known).map { "did you mean \($0)?" }
  }

  /// The known name of least distance, at most a fifth of the name's length (2 at least); of paths,
  /// one that ends in the same word counts as near too.
  static func nearest(to name: String, among known: [String]) -> String? {
    // Longer names are no typing errors, and the distance costs the product of the lengths.
    guard name.utf8.count <= 128 else { return nil }
    let lowered = name.lowercased()
    let scored = known.map { ($0, EditDistance.between(Array(lowered), Array($0.lowercased()))) }
    guard let best = scored.min(by: { $0.1 < $1.1 }) else { return nil }
    if best.1 <= max(2, lowered.utf8.count / 5) { return best.0 }
    let leaf = lowered.split(separator: ".").last
    let sameLeaf = known.filter { $0.contains(".") && $0.split(separator: ".").last == leaf }
    return sameLeaf.count == 1 ? sameLeaf.first : nil
  }
}
