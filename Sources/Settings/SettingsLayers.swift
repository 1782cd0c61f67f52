import YAML

/// Collects values layer by layer: default, file, environment, flags. Every layer is validated,
/// also where a later one wins.
struct SettingsLayers {
  struct Effective {
    let value: SettingValue
    let source: SettingSource
    /// Where the other entries of a mapping come from, to which flags have added some.
    var others: [SettingSource] = []
    /// Of a secret: the file that it was read from.
    var secretFile: String?
  }

  /// Where relative paths of the file begin; empty for the working directory.
  let baseDirectory: String
  var findings: [SettingsFinding] = []
  /// There is a file, and nobody knows what it sets.
  private(set) var fileIsUnread = false
  private var values: [String: Effective] = [:]
  /// Keys of those files whose secrets are used.
  private var secretFilesRead: Set<String> = []
  private var unknownNames = 0
  /// A file with more mistakes than one reads is of another program; what each may have meant costs
  /// a comparison with every name that there is.
  private static let maximumUnknownNames = 100
  private static let maximumHints = 20
  private static let knownNames = SettingTable.keys.map(\.path) + SettingTable.groups.sorted()
  /// Where the file says a password itself.
  private var secretsInFile: [(key: String, source: SettingSource)] = []

  init(baseDirectory: String) {
    self.baseDirectory = baseDirectory
    for key in SettingTable.keys {
      guard var value = key.defaultValue else { continue }
      if case .path = key.kind, case .text(let path) = value {
        value = .text(SettingKind.resolved(path, in: baseDirectory))
      }
      values[key.path] = Effective(value: value, source: .builtIn)
    }
  }

  func settings() -> Settings {
    var settings = Settings.defaults
    for key in SettingTable.keys {
      if case .secretFile = key.kind, !secretFilesRead.contains(key.path) { continue }
      if let value = values[key.path]?.value { key.apply(&settings, value) }
    }
    return settings
  }

  /// Every key, in the order of the table.
  /// - Parameter settings: what was made of these layers.
  func resolved(_ settings: Settings) -> [ResolvedSetting] {
    SettingTable.keys.map { key in
      let effective = values[key.path]
      if key.path == SettingTable.workerID, effective == nil {
        return ResolvedSetting(
          path: key.path, value: .text(settings.worker.id), origins: [.process])
      }
      let sources = (effective?.others ?? []) + [effective?.source ?? .builtIn]
      let origins: [ResolvedSetting.Origin] =
        effective?.secretFile.map { [.secretFile(path: $0, namedBy: source(of: key.path))] }
        ?? sources.map { .source($0) }
      return ResolvedSetting(
        path: key.path, value: .init(effective?.value, of: key.kind), origins: origins)
    }
  }

  func source(of path: String) -> SettingSource { values[path]?.source ?? .builtIn }

  /// Whether something was found to be wrong with a key: what it would have set is missing for that
  /// reason, which is said already.
  func isFaulty(_ path: String) -> Bool {
    findings.contains { $0.severity == .problem && $0.key == path }
  }

  mutating func add(
    _ severity: SettingsFinding.Severity, _ source: SettingSource, key: String?, _ message: String,
    hint: String? = nil
  ) {
    // A default that breaks a rule together with what was set has no place of its own.
    let place = source == .builtIn ? nil : source.description
    findings.append(SettingsFinding(severity, place: place, key: key, message: message, hint: hint))
  }

  mutating func read(_ key: SettingKey, _ raw: RawSetting, relativeTo directory: String) {
    if case .single("") = raw.content, key.defaultValue == nil {
      values[key.path] = nil
      return
    }
    var complaints: [(SettingComplaint, SettingSource)] = []
    let value = key.kind.read(raw, baseDirectory: directory) { complaints.append(($0, $1)) }
    for (complaint, source) in complaints {
      add(.problem, source, key: key.path, complaint.message, hint: complaint.hint)
    }
    if let value { values[key.path] = Effective(value: value, source: raw.source) }
  }

  // MARK: The file

  mutating func read(file: String) {
    let read: BoundedFile
    do {
      read = try BoundedFile.read(file, maximumBytes: SettingsLoader.maximumFileBytes)
    } catch {
      fileIsUnread = true
      findings.append(
        SettingsFinding(
          .problem, place: nil, key: nil, message: "the configuration \(error.message)",
          hint: error.hint))
      return
    }
    do throws(YAMLError) {
      guard let root = try YAMLNode.parse(read.bytes, maximumBytes: SettingsLoader.maximumFileBytes)
      else { return }
      if !root.isNull { walk(root, path: nil, file: file) }
      for (key, source) in secretsInFile {
        warnIfExposed(read, path: file, key: key, source: source)
      }
      if unknownNames > Self.maximumUnknownNames {
        let more = unknownNames - Self.maximumUnknownNames
        add(.warning, .file(file, root.place), key: nil, "\(more) more unknown keys")
      }
    } catch {
      fileIsUnread = true
      add(.problem, .file(file, error.place), key: nil, error.message)
    }
  }

  private mutating func walk(_ node: YAMLNode, path: String?, file: String) {
    guard let entries = node.mapping else {
      if path != nil && node.isNull { return }
      add(
        .problem, .file(file, node.place), key: path,
        "must be a mapping of keys, is \(node.kindName)")
      return
    }
    for entry in entries {
      let name = path.map { "\($0).\(entry.key)" } ?? entry.key
      if let key = SettingTable.key(name) {
        let raw = RawSetting(entry.value, file: file)
        read(key, raw, relativeTo: baseDirectory)
        if holdsSecret(key, raw) { secretsInFile.append((key.path, raw.source)) }
      } else if SettingTable.groups.contains(name) {
        walk(entry.value, path: name, file: file)
      } else {
        let hint = hint(for: name, among: Self.knownNames)
        guard unknownNames <= Self.maximumUnknownNames else { continue }
        add(
          .warning, .file(file, entry.keyPlace), key: nil, "unknown key \(Shown.value(name))",
          hint: hint)
      }
    }
  }

  /// Nil for all but the first.
  private mutating func hint(for name: String, among known: [String]) -> String? {
    unknownNames += 1
    return unknownNames <= Self.maximumHints ? NearestName.hint(for: name, among: known) : nil
  }

  // MARK: The environment

  mutating func read(environment: [String: String]) {
    let keys = Dictionary(uniqueKeysWithValues: SettingTable.keys.map { ($0.environmentName, $0) })
    let names = keys.keys.sorted()
    for (name, text) in environment.sorted(by: { $0.key < $1.key }) where name.hasPrefix("FANFARE_")
    {
      if EnvironmentNames.isForeign(name, value: text) { continue }
      guard let key = keys[name] else {
        let hint = hint(for: name, among: names)
        add(.warning, .environment(name), key: nil, "unknown variable", hint: hint)
        continue
      }
      // An empty variable is one that is not set: compose files and shells cannot say it otherwise.
      if text.isEmpty { continue }
      read(key, RawSetting(.single(text), .environment(name)), relativeTo: "")
    }
  }

  // MARK: Flags

  mutating func read(overrides: [(key: String, value: String)]) {
    for (path, text) in overrides {
      let source = SettingSource.flag(Shown.path(path))
      if let key = SettingTable.key(path) {
        let raw = RawSetting(.single(text), source)
        read(key, raw, relativeTo: "")
        if holdsSecret(key, raw) { warnOfCommandLine(path, source) }
      } else if !readMapEntry(path, text, source) {
        add(
          .problem, source, key: nil, "unknown key",
          hint: hint(for: path, among: SettingTable.keys.map(\.path)))
      }
    }
  }

  /// `--set kafka.properties.socket.keepalive.enable=true` adds one entry to a mapping.
  private mutating func readMapEntry(_ path: String, _ text: String, _ source: SettingSource)
    -> Bool
  {
    for key in SettingTable.keys {
      guard key.kind.isMap, path.hasPrefix(key.path + ".") else { continue }
      let before = values[key.path]
      let name = String(path.dropFirst(key.path.count + 1))
      if KafkaProperties.isSecret(name) { warnOfCommandLine(key.path, source) }
      let entry = RawSetting(.map([(name, RawSetting(.single(text), source))]), source)
      read(key, entry, relativeTo: "")
      if case .map(let old)? = before?.value, case .map(let new)? = values[key.path]?.value {
        let isDefault = before?.source == .builtIn
        values[key.path] = Effective(
          value: .map(old.merging(new) { $1 }), source: source,
          others: isDefault ? [] : (before?.others ?? []) + [before?.source ?? .builtIn])
      }
      return true
    }
    return false
  }

  // MARK: Secrets

  /// A secret and its file: the one of the later layer wins; both in one layer are a problem.
  mutating func readSecretFiles() {
    for key in SettingTable.keys {
      guard case .secretFile(let secret) = key.kind, case .text(let path)? = values[key.path]?.value
      else { continue }
      let source = source(of: key.path)
      if let direct = values[secret] {
        if direct.source.rank > source.rank { continue }
        if direct.source.rank == source.rank {
          add(.problem, source, key: key.path, "\(secret) is set too", hint: "keep one of them")
          continue
        }
      }
      do {
        let file = try BoundedFile.readSecret(path, maximumBytes: 4_096)
        warnIfExposed(file, path: path, key: key.path, source: source)
        values[secret] = Effective(
          value: .text(try SecretText.ofFile(file)), source: source, secretFile: path)
        secretFilesRead.insert(key.path)
      } catch {
        add(.problem, source, key: key.path, error.message, hint: error.hint)
      }
    }
  }

  mutating func warnIfExposed(
    _ file: BoundedFile, path: String, key: String, source: SettingSource
  ) {
    guard file.isExposed else { return }
    if file.isWorldWritable {
      return add(
        .problem, source, key: key,
        "\(Shown.path(path)) can be written by every user of this machine",
        hint: BoundedFile.modeHint)
    }
    add(
      .warning, source, key: key,
      file.isWorldReadable
        ? "\(Shown.path(path)) can be read by every user of this machine"
        : "\(Shown.path(path)) holds a secret and has mode 0\(String(file.mode, radix: 8)): "
          + "at most 0640 is safe",
      hint: BoundedFile.modeHint)
  }

  /// Whether a value is one that must not be seen; of a mapping, whether one in it is.
  private func holdsSecret(_ key: SettingKey, _ raw: RawSetting) -> Bool {
    switch (key.kind, raw.content) {
    case (.secret, .single(let text)): !text.isEmpty
    case (.map, .map(let entries)): entries.contains { KafkaProperties.isSecret($0.name) }
    default: false
    }
  }

  private mutating func warnOfCommandLine(_ key: String, _ source: SettingSource) {
    let file = SettingTable.key(key + "_file") == nil ? "the configuration" : key + "_file"
    add(
      .warning, source, key: key, "every user of this machine sees a command line (ps)",
      hint: "keep it in a file: \(file)")
  }
}

/// Variables that begin like ours and are not settings.
enum EnvironmentNames {
  /// Variables of commands and tests: the configuration's path, a Kafka installation to test
  /// against.
  private static let other: Set<String> = ["FANFARE_CONFIG", "FANFARE_KAFKA_HOME"]

  /// Kubernetes sets `FANFARE_REDIS_PORT=tcp://10.0.0.1:6379` and its like in every container when
  /// a Service is named `fanfare-redis`.
  static func isForeign(_ name: String, value: String) -> Bool {
    if other.contains(name) { return true }
    if name.hasSuffix("_SERVICE_HOST") || name.contains("_SERVICE_PORT") { return true }
    let isLink = ["tcp://", "udp://", "sctp://"].contains { value.hasPrefix($0) }
    if name.hasSuffix("_PORT") && isLink { return true }
    // …_PORT_6379_TCP, and the same with _ADDR, _PORT, _PROTO behind it.
    let words = name.split(separator: "_")
    return words.indices.dropFirst(2).contains { index in
      words[index - 2] == "PORT" && words[index - 1].allSatisfy(\.isNumber)
        && ["TCP", "UDP", "SCTP"].contains(words[index])
    }
  }
}
