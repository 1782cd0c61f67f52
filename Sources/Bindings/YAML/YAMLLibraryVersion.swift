import CYAML

package enum YAMLLibraryVersion {
  /// The libyaml that is loaded at run time: `0.2.5`.
  package static var string: String {
    yaml_get_version_string().map { String(cString: $0) } ?? "unknown"
  }
}
