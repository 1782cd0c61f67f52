import CHiredis

package enum RedisLibraryVersion {
  /// The hiredis that this was compiled against: `0.14.1`. It does not say its version at run time.
  package static var string: String { "\(HIREDIS_MAJOR).\(HIREDIS_MINOR).\(HIREDIS_PATCH)" }
}
