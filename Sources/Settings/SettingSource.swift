import YAML

/// Where a value came from. Later ones win: default, file, environment, flag.
package enum SettingSource: Sendable, Equatable, CustomStringConvertible {
  case builtIn
  case file(String, YAMLPlace)
  case environment(String)
  case flag(String)

  package var description: String {
    switch self {
    case .builtIn: "default"
    case .file(let path, let place): "\(path):\(place)"
    case .environment(let name): "environment \(name)"
    case .flag(let key): "--set \(key)"
    }
  }

  var rank: Int {
    switch self {
    case .builtIn: 0
    case .file: 1
    case .environment: 2
    case .flag: 3
    }
  }
}
