import CJansson

package enum JSONLibraryVersion {
  /// The jansson that is loaded at run time: `2.14`.
  package static var string: String { String(cString: jansson_version_str()) }
}
